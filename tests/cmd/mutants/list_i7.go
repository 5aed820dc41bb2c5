package main

// secretsStaySecret are the mutants of I7.
func secretsStaySecret() []mutant {
	return []mutant{
		breaks("I7", "what a webhook or a policy says about a Secret is passed on",
			in("pkg/apierror", "About").returns("Safe(err)"), integration, "TestI7_SecretsStaySecret"),
		breaks("I7", "the page gets the values of Secrets",
			in("pkg/page", "Page.compareWithCluster").sets("Masker", "report.Masker{Show: len(key) > 0}"), "tests/page",
			"TestI7_ThePageGetsNoValueOfASecret"),
		breaks("I7", "the copy of a Secret has its data",
			in("pkg/classic", "appliedOf").skips("delete", "Clone"), "pkg/classic",
			"TestI7_TheCopyOfASecretHasNoData"),
		breaks("I7", "settled forms hold what they are about",
			in(locks, "Settled.difference").returns("[]byte(entry)"), fidelity, "TestI7_SettledFormsHoldNoValue"),
		breaks("I7", "the guard answers a client without a certificate",
			in("pkg/guard", "Keeper.TLS").becomes("RequireAndVerifyClientCert", "tls.RequestClientCert"), guardSuite,
			"TestHostile_OnlyAPIServersAreAnswered"),
	}
}

// noExemption are the mutants of I8.
func noExemption() []mutant {
	return []mutant{
		breaks("I8", "an object that says it is the release's that does not declare it is left alone",
			in(claiming, "Declaration.Owns").always("has"), integration, "TestI8_LiveMetadataExemptsNothing"),
		breaks("I8", "naming a release whose record is none is a way out of the lock",
			in(proof, "OwnsNothing").never("ErrRecord"), tenancy, "TestHostile_AReleaseWithoutARecordOwnsNothing"),
		breaks("I8", "an object may be made immutable, so that no later revision can change it",
			in(drifts, "compareDeclared").becomes("withoutFreeze", "target"), fidelity,
			"TestI8_AnUndeclaredImmutableIsDrift/helm_3"),
		breaks("I8", "any Rollout may set the number of replicas",
			in(judging, "Autoscalers.Range").never("Any"), "tests/neighbours", "TestI8_RolloutThatNoManifestDeclares"),
	}
}

// allOrNothing are the mutants of I9, badInput those of I10.
func allOrNothing() []mutant {
	const test = "TestI9_ManifestThatDoesNotParseIsNotEnforcedAtAll"
	return []mutant{
		breaks("I9", "a manifest that does not parse counts as an empty one",
			in(judging, "Read").becomes("Parse", "&manifest.Set{}, error(nil)"), integration, test),
	}
}

func badInput() []mutant {
	return []mutant{
		breaks("I10", "a payload of another release is taken",
			in("pkg/reading", "Reading.Decode").becomes("Matches", "nil"), integration,
			"TestI10_BadRecordsEndInAConditionAndOthersGoOn"),
		breaks("I10", "a newer record that cannot be read is overlooked",
			in(locking, "Locker.malformed").returns("nil"), integration, "TestI10_UnreadableNewerRecordUnlocks"),
		breaks("I10", "a kind that was not served is not asked for again",
			in(locking, "Locker.kindArrived").returns("false"), integration, "TestI10_MissingKindIsWaitedFor"),
		breaks("I10", "conditions and events quote escape sequences",
			in("pkg/plain", "Line").returns("text"), integration, "TestI10_TextOfOthersIsNeutral"),
		breaks("I10", "a payload may decompress to any size",
			in(records, "newBounded").sets("left", "limit << 20"), "pkg/release/whole",
			"TestPayloadsThatExhaustMemory"),
	}
}

// costFollowsLocks are the mutants of I11.
func costFollowsLocks() []mutant {
	const test = "TestI11_OnlyWhatIsLockedIsWatched"
	return []mutant{
		breaks("I11", "the watch of a kind goes on when no release needs it any more",
			in(watches, "Objects.release").never("users"), integration, test),
		breaks("I11", "all Secrets are watched for release records",
			in(watches, "store.listWatch").skips("SelectorWithFences"), integration, test),
		breaks("I11", "what was settled is learnt by dry runs again at each start",
			in(judging, "Unsettled.Recall").returns("u.r"), fidelity, "TestI11_SettledFormsCostNoRequests"),
	}
}

// tenantsApart are the mutants of I12.
func tenantsApart() []mutant {
	return []mutant{
		breaks("I12", "one namespace may have all the writes under way",
			in(fair, "Semaphore.grant").never("Each"), tenancy, "TestI12_SlowWebhookHasAShareOfTheWrites"),
		breaks("I12", "slow writes count for all",
			in(fair, "Semaphore.hold").never("Slow"), tenancy, "TestI12_SlowWebhooksOfManyTenants"),
		breaks("I12", "a manifest that does not parse is parsed at each event of its HelmRelease",
			in(locking, "Locker.refusedBefore").returns("false"), integration,
			"TestI12_ManifestThatDoesNotParseIsReadOnce"),
	}
}
