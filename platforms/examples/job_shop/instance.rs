//! Job shops: their files, and bounds of partial schedules.

/// The operations of each job in their order: machine and time.
pub(crate) struct Instance {
    machines: usize,
    pub(crate) jobs: Vec<Vec<(usize, u64)>>,
}

impl Instance {
    /// Reads the numbers of jobs and machines, then for each job its machines, from 0, and times.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let number = |word: &str| {
            let number = word.parse::<u32>();
            number.map_err(|_| format!("{word}: expected a whole number"))
        };
        let mut numbers = text.split_whitespace().map(number);
        let mut next = |what| match numbers.next() {
            Some(number) => number,
            None => Err(format!("expected {what}, the file ends")),
        };
        let (jobs, machines) = (next("a number of jobs")?, next("a number of machines")?);
        if ![jobs, machines].iter().all(|n| (1..=1000).contains(n)) {
            return Err(format!(
                "{jobs} jobs, {machines} machines: expected 1 to 1000"
            ));
        }
        let mut operation = || match (next("a machine")?, next("a time")?) {
            (machine, time) if machine < machines => Ok((machine as usize, u64::from(time))),
            (machine, _) => Err(format!("machine {machine}: expected one below {machines}")),
        };
        let mut job = |_| (0..machines).map(|_| operation()).collect();
        let jobs: Vec<_> = (0..jobs).map(&mut job).collect::<Result<_, String>>()?;
        let machines = machines as usize;
        match numbers.next() {
            Some(_) => Err("expected the end of the file, more numbers follow".into()),
            None => Ok(Self { machines, jobs }),
        }
    }
}

/// A schedule of the first operations of each job.
#[derive(Clone)]
pub(crate) struct Partial {
    /// By job: the number of its scheduled operations, and the end of the last one.
    jobs: Vec<(usize, u64)>,
    /// By machine: the end of its last operation.
    machines: Vec<u64>,
    /// The jobs whose operations were scheduled, in this order.
    pub(crate) order: Vec<usize>,
    /// A lower bound of the ends of all schedules that continue this one.
    pub(crate) bound: u64,
}

impl Partial {
    pub(crate) fn empty(instance: &Instance) -> Self {
        let mut empty = Self {
            jobs: vec![(0, 0); instance.jobs.len()],
            machines: vec![0; instance.machines],
            order: Vec::new(),
            bound: 0,
        };
        empty.bound = empty.least(instance);
        empty
    }

    /// Returns the earliest start of the next operation of a job, its end, and its machine.
    fn next(&self, instance: &Instance, job: usize) -> Option<(u64, u64, usize)> {
        let (done, free) = self.jobs[job];
        let &(machine, time) = instance.jobs[job].get(done)?;
        let start = free.max(self.machines[machine]);
        Some((start, start + time, machine))
    }

    /// Branches as Giffler and Thompson (1960) do: on the machine of the operation that can end
    /// first, by each that can start before that end. Empty if all operations are scheduled.
    pub(crate) fn children(&self, instance: &Instance) -> Vec<Self> {
        let all = 0..instance.jobs.len();
        let next = |job| Some((job, self.next(instance, job)?));
        let ready: Vec<_> = all.filter_map(next).collect();
        let first = ready.iter().map(|(_, (_, end, machine))| (*end, *machine));
        let Some((end, machine)) = first.min() else {
            return Vec::new();
        };
        let rivals = ready
            .iter()
            .filter(|(_, (start, _, m))| *m == machine && *start < end);
        rivals
            .map(|(job, (_, end, _))| self.with(instance, *job, machine, *end))
            .collect()
    }

    fn with(&self, instance: &Instance, job: usize, machine: usize, end: u64) -> Self {
        let mut child = self.clone();
        child.jobs[job] = (self.jobs[job].0 + 1, end);
        child.machines[machine] = end;
        child.order.push(job);
        child.bound = self.bound.max(child.least(instance));
        child
    }

    /// The least end of jobs alone, and of machines alone: their earliest start, their work, the
    /// least that follows it.
    fn least(&self, instance: &Instance) -> u64 {
        let mut of_jobs = self.jobs.iter().map(|job| job.1).max().unwrap_or(0);
        let mut of_machines = vec![(u64::MAX, 0, u64::MAX); self.machines.len()];
        for (operations, &(done, free)) in instance.jobs.iter().zip(&self.jobs) {
            let mut left: u64 = operations[done..].iter().map(|operation| operation.1).sum();
            let mut head = free;
            of_jobs = of_jobs.max(free + left);
            for &(machine, time) in &operations[done..] {
                head = head.max(self.machines[machine]);
                left -= time;
                let (start, work, tail) = &mut of_machines[machine];
                (*start, *work, *tail) = (head.min(*start), *work + time, left.min(*tail));
                head += time;
            }
        }
        let used = of_machines.iter().filter(|(_, work, _)| *work > 0);
        let ends = used.map(|(start, work, tail)| start + work + tail);
        ends.max().unwrap_or(0).max(of_jobs)
    }
}
