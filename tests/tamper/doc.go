// Package tamper locks releases of many charts, made by Helm 3 and by Helm 4, and damages all their objects in every
// way of its generators. It consists of tests only; README.md describes the measures.
package tamper
