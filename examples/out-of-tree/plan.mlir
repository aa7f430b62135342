tp.plan @layers on <"tp" = 2>["tp"] {
  tp.parallelize "up" with colwise
  tp.parallelize "down" with rowwise
}
