module github.com/helmfile/vals

go 1.26.0
