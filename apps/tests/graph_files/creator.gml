Creator "Mark Newman"
graph
[
  directed 0
  node
  [
    id 1
    label "corner ] 1"
  ]
  node
  [
    id 2
    label "corner ] 2"
  ]
  node
  [
    id 3
    label "corner ] 3"
  ]
  node
  [
    id 4
    label "corner ] 4"
  ]
  node
  [
    id 5
    label "corner ] 5"
  ]
  node
  [
    id 6
    label "corner ] 6"
  ]
  node
  [
    id 7
    label "corner ] 7"
  ]
  node
  [
    id 8
    label "corner ] 8"
  ]
  edge
  [
    source 1
    target 2
    value 0.1
  ]
  edge
  [
    source 1
    target 3
    value 0.2
  ]
  edge
  [
    source 1
    target 5
    value 0.3
  ]
  edge
  [
    source 2
    target 4
    value 0.4
  ]
  edge
  [
    source 2
    target 6
    value 0.5
  ]
  edge
  [
    source 3
    target 4
    value 0.6
  ]
  edge
  [
    source 3
    target 7
    value 0.7
  ]
  edge
  [
    source 4
    target 8
    value 1.0
  ]
  edge
  [
    source 5
    target 6
    value 0.8
  ]
  edge
  [
    source 5
    target 7
    value 0.9
  ]
  edge
  [
    source 6
    target 8
    value 1.1
  ]
  edge
  [
    source 7
    target 8
    value 1.2
  ]
]
