// Package docs checks the documents: that links and names are right, that reasons are explained, and that every
// command works. docs/developing.md, "How the documents are tested", has the rules for running pages.
package docs
