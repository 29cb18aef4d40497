/* The Cholesky factorization of LAPACK, of the matrix of `tautline cholesky --n N`. Called with the
   number of rows and of threads; prints the seconds of the median of five, after one that is not counted. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void dpotrf_(const char *uplo, const int *n, double *a, const int *lda, int *info);
void openblas_set_num_threads(int threads);
char *openblas_get_config(void);
char *openblas_get_corename(void);

enum { RUNS = 5 };

static uint64_t mixed(uint64_t seed) {
    uint64_t z = seed + 0x9e3779b97f4a7c15;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return z ^ z >> 31;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    if (argc > 1 && !strcmp(argv[1], "--name")) {
        /* The first two words are its name and version. */
        const char *config = openblas_get_config();
        size_t name = strcspn(config, " ") + 1;
        int length = (int)(name + strcspn(config + name, " "));
        printf("%.*s, kernels of %s\n", length, config, openblas_get_corename());
        return 0;
    }
    if (argc != 3) return 2;
    int n = atoi(argv[1]), info = 0;
    openblas_set_num_threads(atoi(argv[2]));
    size_t size = (size_t)n * n;
    double *a = malloc(size * sizeof *a), *l = malloc(size * sizeof *l), times[RUNS];
    if (n < 1 || !a || !l) return 2;
    for (size_t column = 0; column < (size_t)n; column++)
        for (size_t row = 0; row < (size_t)n; row++) {
            size_t i = row > column ? row : column, j = row > column ? column : row;
            double drawn = (double)(mixed(mixed(1) ^ ((uint64_t)i << 32 | j)) >> 11) / (1ull << 53) - 0.5;
            a[column * n + row] = i == j ? drawn + n : drawn;
        }
    for (int run = -1; run < RUNS; run++) {
        memcpy(l, a, size * sizeof *l);
        double began = now();
        dpotrf_("L", &n, l, &n, &info);
        if (info) return 1;
        if (run >= 0) times[run] = now() - began;
    }
    qsort(times, RUNS, sizeof *times, by_value);
    printf("%.9f\n", times[RUNS / 2]);
    return 0;
}
