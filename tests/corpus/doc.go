// Package corpus locks releases made of real charts, and tampers with every object of theirs. It consists of tests only.
package corpus
