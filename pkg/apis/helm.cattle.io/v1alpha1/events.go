package v1alpha1

// Reasons of the operator's events, on the HelmRelease and, where an object is concerned, on the object.
const (
	// EventReasonLocked (Normal): a revision of the release is locked.
	EventReasonLocked = "Locked"

	// EventReasonTransitioning (Normal): Helm is at work on the release, so it is unlocked.
	EventReasonTransitioning = "Transitioning"

	// EventReasonStuckTransitioning (Warning): the release has been in a `pending-*` or `uninstalling` status for
	// so long that the Helm operation was probably interrupted.
	EventReasonStuckTransitioning = "StuckTransitioning"

	// EventReasonUntracked (Normal): the release is no longer locked: it was uninstalled, its records are
	// gone, or the HelmRelease was deleted.
	EventReasonUntracked = "Untracked"

	// EventReasonSuspended (Normal): the release is unlocked because its spec asks for it.
	EventReasonSuspended = "Suspended"

	// EventReasonIgnoreEnds (Normal): an ignore rule ends within a minute, and the drift in its fields is reverted
	// then.
	EventReasonIgnoreEnds = "IgnoreEnds"

	// EventReasonDrifted (Warning): an object was changed by someone other than Helm, and is not reverted (mode
	// Detect), or only at the end of a pause, which is near.
	EventReasonDrifted = "Drifted"

	// EventReasonReverted (Normal): an object was changed by someone other than Helm, and was written back.
	EventReasonReverted = "Reverted"

	// EventReasonDenied (Warning): the guard refused a request to change or delete an object.
	EventReasonDenied = "Denied"

	// EventReasonRecreated (Normal): an object that was deleted by another than Helm, or was missing, was created.
	EventReasonRecreated = "Recreated"

	// EventReasonReplaced (Normal): an immutable field of an object was changed, so the object was deleted and
	// created again.
	EventReasonReplaced = "Replaced"

	// EventReasonPruned (Normal): an object of an earlier revision, left behind by Helm, was deleted.
	EventReasonPruned = "Pruned"

	// EventReasonBeingDeleted (Warning): the deletion of an object is pending; the message names the finalizers on it
	// and their authors. Its content is still protected.
	EventReasonBeingDeleted = "BeingDeleted"

	// EventReasonOvertaken (Normal or Warning): Helm began to work while an object was reverted or re-created. The
	// message has the reaction.
	EventReasonOvertaken = "Overtaken"

	// EventReasonRevertFailed (Warning): the API server refused to take a change back.
	EventReasonRevertFailed = "RevertFailed"

	// EventReasonContended (Warning): another party keeps changing an object back; the message names it.
	EventReasonContended = "Contended"

	// EventReasonForbidden (Warning): the ServiceAccount in whose name the release is protected may not change some
	// declared objects, so these are not protected.
	EventReasonForbidden = "Forbidden"

	// EventReasonNoServiceAccount (Warning): no ServiceAccount is named to write with, so nothing is protected.
	EventReasonNoServiceAccount = "NoServiceAccount"

	// EventReasonConflict (Warning): another HelmRelease already locks this release or an object of it.
	EventReasonConflict = "Conflict"

	// EventReasonDecodeFailed (Warning): the release record cannot be decoded.
	EventReasonDecodeFailed = "DecodeFailed"

	// EventReasonManifestInvalid (Warning): the manifest of the revision does not parse completely.
	EventReasonManifestInvalid = "ManifestInvalid"

	// EventReasonRecordNotTrusted (Warning): the release is not enforced, because the writer of its newest record may
	// not do what the record declares, or is unknown.
	EventReasonRecordNotTrusted = "RecordNotTrusted"

	// EventReasonUnexpectedWriter (Warning): spec.expectedWriters does not name the user who stored a revision.
	EventReasonUnexpectedWriter = "UnexpectedWriter"

	// EventReasonAutoscaled (Normal): an undeclared object has a controller set the number of replicas of a locked
	// workload; that field is left to it.
	EventReasonAutoscaled = "Autoscaled"

	// EventReasonWaitingForKind (Warning): the manifest has objects of a kind that the API server does not serve.
	EventReasonWaitingForKind = "WaitingForKind"
)

// Reasons of events on a HelmReleasePolicy. InvalidPolicy, AcceptanceRequired, TooManyReleases, NameTaken, WriteFailed
// and Forbidden are recorded with the condition of that reason.
const (
	// EventReasonApplied (Normal): HelmReleases were created, changed or deleted; the message has the number and the
	// reason.
	EventReasonApplied = "Applied"

	// EventReasonInvalidPolicy (Warning): a selector of the policy cannot be understood.
	EventReasonInvalidPolicy = "InvalidPolicy"

	// EventReasonAcceptanceRequired (Warning): the policy would enforce with the operator's own rights, and does not
	// accept that.
	EventReasonAcceptanceRequired = "AcceptanceRequired"

	// EventReasonTooManyReleases (Warning): the policy matches more releases than spec.maxReleases allows.
	EventReasonTooManyReleases = "TooManyReleases"

	// EventReasonNameTaken (Warning): a HelmRelease for another release has the name of one that the policy would make.
	EventReasonNameTaken = "NameTaken"

	// EventReasonWriteFailed (Warning): the API server refused to create, change or delete a HelmRelease.
	EventReasonWriteFailed = "WriteFailed"

	// EventReasonRolloutBatch (Normal): the rollout moved releases from mode Detect to Enforce.
	EventReasonRolloutBatch = "RolloutBatch"

	// EventReasonRolloutStopped (Warning): the rollout moves no more releases; the message has the reason.
	EventReasonRolloutStopped = "RolloutStopped"

	// EventReasonRolloutHeld (Warning): the rollout begins to hold releases because of their drift; the message names
	// them.
	EventReasonRolloutHeld = "RolloutHeld"

	// EventReasonRolloutComplete (Normal): the rollout has moved all releases to mode Enforce.
	EventReasonRolloutComplete = "RolloutComplete"
)
