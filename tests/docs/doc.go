// Package docs checks the documents: links, names, the explanation of each reason, and every command.
// docs/developing.md, "How the documents are tested", has the rules for running pages.
package docs
