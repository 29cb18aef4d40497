graph [
  node [
    id 0
    label "1"
  ]
  node [
    id 1
    label "2"
  ]
  node [
    id 2
    label "3"
  ]
  node [
    id 3
    label "5"
  ]
  node [
    id 4
    label "4"
  ]
  node [
    id 5
    label "6"
  ]
  node [
    id 6
    label "7"
  ]
  node [
    id 7
    label "8"
  ]
  edge [
    source 0
    target 1
    weight 0.1
  ]
  edge [
    source 0
    target 2
    weight 0.2
  ]
  edge [
    source 0
    target 3
    weight 0.3
  ]
  edge [
    source 1
    target 4
    weight 0.4
  ]
  edge [
    source 1
    target 5
    weight 0.5
  ]
  edge [
    source 2
    target 4
    weight 0.6
  ]
  edge [
    source 2
    target 6
    weight 0.7
  ]
  edge [
    source 3
    target 5
    weight 0.8
  ]
  edge [
    source 3
    target 6
    weight 0.9
  ]
  edge [
    source 4
    target 7
    weight 1.0
  ]
  edge [
    source 5
    target 7
    weight 1.1
  ]
  edge [
    source 6
    target 7
    weight 1.2
  ]
]
