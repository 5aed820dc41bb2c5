package v1alpha1

// Condition types. Ready, Locked, Drifted and Contended are always present once a HelmRelease has been looked at.
// Stalled and Reconciling follow kstatus: they are present, with status True, only while they apply.
const (
	// ConditionReady is True when the release is as the spec asks: locked, watched without drift (mode Detect), or
	// unlocked because suspended. Otherwise it is False, and its message has the cause.
	ConditionReady = "Ready"

	// ConditionLocked is True while all declared objects are protected: drift is reverted. It is False while one of
	// them is not (its message names the cause), while the release is unlocked, and in mode Detect.
	ConditionLocked = "Locked"

	// ConditionDrifted is True while an object of the release differs from the locked manifest. It is False when all
	// are as declared, and Unknown while one of them is not compared and no other one differs.
	ConditionDrifted = "Drifted"

	// ConditionContended is True while another party keeps changing an object back. It becomes False by itself when
	// that party stops.
	ConditionContended = "Contended"

	// ConditionGuarded is True while the API server asks the guard about changes of the objects of the release, and
	// False when spec.guard asks for that and it is not so. It is absent when spec.guard is Off.
	ConditionGuarded = "Guarded"

	// ConditionExpectedWriter is False after a deployment by a user whom spec.expectedWriters does not name, until a
	// named one deploys, or spec.acceptedRecord accepts the record. It is absent without spec.expectedWriters.
	ConditionExpectedWriter = "ExpectedWriter"

	// ConditionStalled is True when the operator can make no progress until someone changes something.
	ConditionStalled = "Stalled"

	// ConditionReconciling is True while the operator works, or waits for something that is expected to happen without
	// anyone's help: Helm finishing an operation, or the API server answering.
	ConditionReconciling = "Reconciling"
)

// Reasons for whether a release is locked: of Ready and Locked, and of Stalled and Reconciling while these apply.
const (
	// ReasonLocked: the newest revision is deployed and its objects are protected.
	ReasonLocked = "Locked"

	// ReasonLocking: the newest revision is deployed and is being locked: its objects are read for the first time.
	ReasonLocking = "Locking"

	// ReasonDetectOnly: the spec's mode is Detect: drift is reported, and nothing is written.
	ReasonDetectOnly = "DetectOnly"

	// ReasonSuspended: the release is unlocked by spec.suspend or spec.suspendUntil. Ready is True, as the spec asks
	// for it; Locked shows whether the release is protected.
	ReasonSuspended = "Suspended"

	// ReasonInWindow: the release is unlocked by spec.windows, until the time in the message. Ready is True, as with
	// Suspended.
	ReasonInWindow = "InWindow"

	// ReasonInvalidWindow: spec.windows has an invalid entry; the message names it. No window opens, so the release
	// stays locked.
	ReasonInvalidWindow = "InvalidWindow"

	// ReasonSecretNotFound: the release has no record.
	ReasonSecretNotFound = "SecretNotFound"

	// ReasonRecordNotRead: Helm keeps the release where the operator does not read records, in a ConfigMap for example;
	// the message names it. Nothing is locked.
	ReasonRecordNotRead = "RecordNotRead"

	// ReasonRecordsInTwoStorages: the release has records in Secrets and in ConfigMaps. Helm reads one of the two, and
	// it is unknown which one, so nothing is locked.
	ReasonRecordsInTwoStorages = "RecordsInTwoStorages"

	// ReasonRecordNotTrusted: the operator enforces only what the writer of a record may do, and the writer of the
	// newest record lacks a right or is unknown; the message names them. The release is compared, and nothing is
	// written.
	ReasonRecordNotTrusted = "RecordNotTrusted"

	// ReasonNotDeployed: the newest revision is not deployed (failed, uninstalled, superseded or unknown), and no Helm
	// operation is in progress.
	ReasonNotDeployed = "NotDeployed"

	// ReasonTransitioning: a Helm operation is in progress.
	ReasonTransitioning = "Transitioning"

	// ReasonStuckTransitioning: a Helm operation has been in progress for so long that it was probably interrupted.
	// `helm rollback` or another `helm upgrade` ends that.
	ReasonStuckTransitioning = "StuckTransitioning"

	// ReasonConflict: another HelmRelease, named in the message, locks this release or an object of it.
	ReasonConflict = "Conflict"

	// ReasonPayloadUnavailable: the release record exists but the API server did not return it.
	ReasonPayloadUnavailable = "PayloadUnavailable"

	// ReasonDecodeFailed: the release record was not written by Helm, is damaged, or is too large.
	ReasonDecodeFailed = "DecodeFailed"

	// ReasonManifestInvalid: the manifest does not parse completely, so nothing of it is enforced.
	ReasonManifestInvalid = "ManifestInvalid"

	// ReasonWaitingForKind: the API server does not serve a kind of the manifest, as while its
	// CustomResourceDefinition is missing. The other objects are protected.
	ReasonWaitingForKind = "WaitingForKind"

	// ReasonInvalidRule: spec.ignore has an invalid rule; the message names it. Nothing is enforced, so fields meant by
	// the rule are not reverted either.
	ReasonInvalidRule = "InvalidIgnoreRule"

	// ReasonForbidden: the operator, or the ServiceAccount in whose name it writes, lacks a needed permission; the
	// message names both. It is tried again by itself.
	ReasonForbidden = "Forbidden"

	// ReasonNoServiceAccount: the operator runs with --impersonate, and neither spec.serviceAccountName nor
	// --default-service-account names an account to write as. Nothing is locked.
	ReasonNoServiceAccount = "NoServiceAccount"
)

// Reasons of Drifted.
const (
	// ReasonNoDrift (False): every object is as the manifest declares it, and none has been changed since it was
	// locked.
	ReasonNoDrift = "NoDrift"

	// ReasonDriftReverted (False): objects had been changed and were restored; status.recentDrift has the last ones.
	ReasonDriftReverted = "DriftReverted"

	// ReasonDriftDetected (True): objects differ from the manifest and are about to be restored or, in mode Detect, are
	// left as they are.
	ReasonDriftDetected = "DriftDetected"

	// ReasonRevertFailed (True): objects differ from the manifest and the API server refused to restore them. It is
	// also a reason of Ready and Locked (False).
	ReasonRevertFailed = "RevertFailed"

	// ReasonNotCompared (Unknown): some objects are not compared, for the reason in the message: the account of the
	// release may not change them, they belong to another release, their kind is not served, or they cannot be read.
	// The others are as declared.
	ReasonNotCompared = "NotCompared"

	// ReasonNotLocked (Unknown; Contended and Guarded: False): the release is unlocked, so its objects are not
	// compared.
	ReasonNotLocked = "NotLocked"
)

// Reasons of Guarded.
const (
	// ReasonGuarded (True): the API server asks the guard about changes of the objects.
	ReasonGuarded = "Guarded"

	// ReasonGuardNotServed (False): the operator runs without --guard-address. Of ExpectedWriter (Unknown): it runs
	// with --trust-records=Any.
	ReasonGuardNotServed = "NotServed"

	// ReasonGuardCertificate (False): the guard has no certificate to serve with.
	ReasonGuardCertificate = "NoCertificate"

	// ReasonGuardNotRegistered (False): the ValidatingWebhookConfiguration is not there, or not up to date.
	ReasonGuardNotRegistered = "NotRegistered"
)

// Reasons of ExpectedWriter.
const (
	// ReasonExpectedWriter (True): an expected user stored the revision, or its record is accepted.
	ReasonExpectedWriter = "ExpectedWriter"

	// ReasonUnexpectedWriter (False): spec.expectedWriters does not name the user in the message, who deployed.
	ReasonUnexpectedWriter = "UnexpectedWriter"

	// ReasonWriterUnknown (Unknown): the operator did not see the writer of the revision, or the release is not locked.
	ReasonWriterUnknown = "WriterUnknown"
)

// Reasons of Contended.
const (
	// ReasonNoContention (False): no other writer keeps changing an object back.
	ReasonNoContention = "NoContention"

	// ReasonFightDetected (True): a party, named in the message, keeps changing an object back, so its reverts are
	// spaced out.
	ReasonFightDetected = "FightDetected"
)

// Conditions of a HelmReleasePolicy, besides Ready, Stalled and Reconciling. Its Ready is True when there is a
// HelmRelease, as the template has it, for every release to lock.
const (
	// ConditionOverlapping is True while a matching release is left to another, more specific policy.
	ConditionOverlapping = "Overlapping"
)

// Reasons of the conditions of a HelmReleasePolicy. Forbidden applies to it, too.
const (
	// ReasonApplied (Ready: True): every release to lock has its HelmRelease.
	ReasonApplied = "Applied"

	// ReasonApplying (Ready: False): HelmReleases are being made, changed or deleted, or what the policy selects by is
	// being read.
	ReasonApplying = "Applying"

	// ReasonInvalidPolicy (Ready: False): a selector of the policy is invalid; the message names it. Locked releases
	// stay locked, and no others are added.
	ReasonInvalidPolicy = "InvalidPolicy"

	// ReasonAcceptanceRequired (Ready: False): the policy would enforce releases with the operator's own rights, and
	// spec.acceptRecordsOfAnyone does not accept that. New HelmReleases have mode Detect until it does, or until
	// spec.template.spec.serviceAccountName names in whose name to write.
	ReasonAcceptanceRequired = "AcceptanceRequired"

	// ReasonTooManyReleases (Ready: False): the policy matches more releases than spec.maxReleases allows. The message
	// has the number of releases left unlocked.
	ReasonTooManyReleases = "TooManyReleases"

	// ReasonNameTaken (Ready: False): a HelmRelease for another release has the name of one that the policy would
	// make; the message names it.
	ReasonNameTaken = "NameTaken"

	// ReasonWriteFailed (Ready: False): the API server refused to create, change or delete a HelmRelease. It is tried
	// again by itself.
	ReasonWriteFailed = "WriteFailed"

	// ReasonRolloutStopped (Ready: False): reverts failed, or too many objects are contended, in releases that
	// spec.rollout moved to mode Enforce. It goes on when that is over.
	ReasonRolloutStopped = "RolloutStopped"

	// ReasonOtherPolicy (Overlapping: True): other policies, named in the message, match releases more specifically.
	ReasonOtherPolicy = "OtherPolicy"

	// ReasonNoOverlap (Overlapping: False): no other policy has a release matched by this one.
	ReasonNoOverlap = "NoOverlap"
)
