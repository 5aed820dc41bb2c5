// Package tamper locks releases of many charts, made by Helm 3 and by Helm 4, and damages every object of theirs in
// every way that it can think of. It consists of tests only; README.md says what they measure.
package tamper
