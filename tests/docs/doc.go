// Package docs checks what the documents say: that links and names are right, that reasons are explained, and that
// every command works. The rules by which pages are run are in docs/developing.md, "How the documents are tested".
package docs
