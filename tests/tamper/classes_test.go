package tamper

// class is a kind of tampering, and a row of the table.
type class string

const (
	scalar    class = "scalar"
	mergeKey  class = "merge key"
	removal   class = "removal"
	reorder   class = "reorder"
	addition  class = "addition to a value (atomic)"
	ownership class = "ownership metadata"
	scale     class = "scale subresource"
	takeover  class = "server-side apply by another"
	deletion  class = "delete"
	beside    class = "scalar, beside additions"
	left      class = "addition (Declared: is left)"
	leftOrder class = "reorder that means nothing (is left)"
	strict    class = "addition (Strict: goes)"

	forbidding class = "addition that forbids the declared value"
	refusal    class = "change of data, and immutable: the rest goes back"
	inside     class = "inside of an injected container (Strict)"
	answer     class = "another value after each revert"

	blank      class = "null or empty, for a value or the reverse"
	undeclared class = "undeclared value (Strict: goes back)"
)

// classes are the rows of the table, in their order.
func classes() []class {
	return []class{scalar, mergeKey, removal, reorder, addition, ownership, scale, takeover, deletion,
		forbidding, refusal, beside, left,
		leftOrder, strict, inside, answer, blank, undeclared}
}
