/*
 * The order proof of I1: no write of a locker undoes a write made by Helm. README.md says what is modelled and what is not;
 * variants.go lists the runs. One release with one object; every block in d_step is one request to the API server.
 *
 * Resource versions and uids are not numbers here but answers: "is it still what I saw?" is one bit for each locker, cleared
 * by every write. That is all that a precondition can tell, and it keeps the number of states finite.
 */

#ifndef OPS
#define OPS 2      /* operations of Helm after the first installation */
#endif
#ifndef TAMPERS
#define TAMPERS 1  /* changes by somebody else */
#endif
#ifndef LOCKERS
#define LOCKERS 1
#endif
#ifndef CRASHES
#define CRASHES 0  /* of lockers, and answers lost to them; the next leader starts with nothing */
#endif

#define REVISIONS (OPS + 2)

/* What Helm's records say. */
#define NONE 0
#define PENDING 1
#define DEPLOYED 2
#define SUPERSEDED 3
#define FAILED 4
#define UNINSTALLING 5
#define UNINSTALLED 6

/* What the object is like, or is declared to be. */
#define ABSENT 0
#define A 1
#define B 2
#define TAMPERED 3
#define UNKNOWN 4

byte status[REVISIONS + 1];  /* of each revision's record; 0 is unused */
byte wanted[REVISIONS + 1];  /* what its manifest declares; ABSENT: not in it */
byte madeBy[REVISIONS + 1];  /* the operation that deployed the revision; 0 while it is not */
byte newest = 1;             /* the highest revision with a record; 0: none */
byte op = 1;                 /* Helm's newest operation */

byte object = A;
byte helmWrote = 1;          /* the last operation of Helm's that wrote or deleted the object, or left it absent on purpose */
byte createdFor;             /* the operation whose record the locker had locked that made the object; 0: made by somebody else */

byte crashes;
bool lostTrack;              /* a locker crashed between a creation and the end of its second check */
byte running = LOCKERS + 2;

/* What each locker knows. */
byte locked[LOCKERS];        /* revision; 0: nothing is locked */
byte lockedBy[LOCKERS];      /* the operation that made its record */
byte want[LOCKERS];
byte seen[LOCKERS];          /* the object as observed */
bool same[LOCKERS];          /* the locked record still has its uid and resourceVersion */
bool fresh[LOCKERS];         /* the object still has the uid and resourceVersion that were seen */
bool mine[LOCKERS];          /* the object is still as this locker created it */
#if defined(GETS_OLDER) || defined(GETS_OLDER_ANY)
#define OLDER
byte older[LOCKERS];         /* the highest revision below the locked one; 0: none */
bool olderSame[LOCKERS];     /* it still has its uid */
#endif

#if LOCKERS == 1
#define EACH(statement) i = 0; statement
#else
#define EACH(statement) i = 0; statement; i = 1; statement
#endif

/* Everything that was known of the object's version is out of date. */
inline objectWritten() { EACH(fresh[i] = false; mine[i] = false); i = 0 }

/* A record was written or deleted. */
inline recordTouched(r) {
	EACH(same[i] = same[i] && locked[i] != r);
	i = 0
}

inline recordDeleted(r) {
#ifdef OLDER
	EACH(olderSame[i] = olderSame[i] && older[i] != r);
#endif
	recordTouched(r)
}

inline findNewest() {
	newest = REVISIONS;
	do
	:: newest > 0 && status[newest] == NONE -> newest--
	:: else -> break
	od
}

inline findDeployed() {
	deployed = REVISIONS;
	do
	:: deployed > 0 && status[deployed] != DEPLOYED -> deployed--
	:: else -> break
	od
}

inline deleteRecord(r) {
	status[r] = NONE; wanted[r] = ABSENT; madeBy[r] = 0;
	recordDeleted(r);
	findNewest()
}

/* ---- Helm ---- */

/* Helm makes room before it creates a record: the oldest go first, the last deployed one stays. */
inline prune(limit) {
	do
	:: d_step {
		findDeployed();
		left = 0; oldest = 0; r = 1;
		do
		:: r > REVISIONS -> break
		:: else ->
			if
			:: status[r] != NONE -> left++;
				if
				:: oldest == 0 && r != deployed -> oldest = r
				:: else
				fi
			:: else
			fi;
			r++
		od;
		r = 0
	   };
	   if
	   :: left >= limit && oldest != 0 ->
		d_step {
			left = 0;
			deleteRecord(oldest); oldest = 0;
#ifndef STRICT
			/* Helm forgets what never succeeded: until it creates the next record, its own status says that the deployed one is current. */
			if
			:: newest == deployed && helmWrote > madeBy[deployed] -> helmWrote = madeBy[deployed]
			:: else
			fi;
#endif
			deployed = 0
		}
	   :: else -> d_step { left = 0; oldest = 0; deployed = 0 }; break
	   fi
	od
}

inline createRecord(declared) {
	d_step {
		op++; newest++;
		status[newest] = PENDING; wanted[newest] = declared;
		recordTouched(newest)
	}
}

/* Helm looks at the live object and writes only what differs; what the manifest lacks is deleted. */
inline writeObject() {
	d_step {
		if
		:: object == wanted[newest] && object != ABSENT
		:: object == wanted[newest] && object == ABSENT -> helmWrote = op
		:: object != wanted[newest] ->
			helmWrote = op;
			object = wanted[newest]; createdFor = 0; objectWritten()
		fi
	}
}

inline setStatus(r, to) { d_step { status[r] = to; madeBy[r] = 0; recordTouched(r) } }

/* The end of an installation, upgrade or rollback: it succeeds, fails, or Helm dies in the middle. */
inline finish() {
	if
	:: true -> goto next /* killed: the record stays pending */
	:: true -> setStatus(newest, FAILED)
	:: true ->
		writeObject();
		if
		:: true -> setStatus(newest, FAILED)
		:: true ->
			d_step { findDeployed(); r = 0 };
			if
			:: deployed != 0 -> setStatus(deployed, SUPERSEDED)
			:: else
			fi;
			d_step { deployed = 0; status[newest] = DEPLOYED; madeBy[newest] = op; recordTouched(newest) }
		fi
	fi
}

proctype Helm() {
	byte i, r, left, oldest, deployed, limit, declared;
	do
	:: op > OPS || true -> break
	:: op <= OPS && newest == 0 -> /* install */
		if
		:: declared = A
		:: declared = B
		fi;
		createRecord(declared); declared = 0;
		finish()
	:: op <= OPS && newest != 0 && (status[newest] == UNINSTALLED || status[newest] == FAILED) -> /* install --replace */
		setStatus(newest, SUPERSEDED);
		createRecord(B);
		finish()
	:: op <= OPS && newest != 0 && (status[newest] == DEPLOYED || status[newest] == FAILED) -> /* upgrade */
		if
		:: declared = A
		:: declared = B
		:: declared = ABSENT
		fi;
		goto change
	:: op <= OPS && newest > 1 && status[newest] != UNINSTALLING && status[newest - 1] != NONE -> /* rollback, also of a failed or killed upgrade */
		declared = wanted[newest - 1];
		goto change
	:: op <= OPS && newest != 0 && status[newest] != UNINSTALLED -> /* uninstall */
		d_step { op++; status[newest] = UNINSTALLING; madeBy[newest] = 0; recordTouched(newest) };
		if
		:: true -> goto next /* killed */
		:: true
		fi;
		d_step {
			helmWrote = op;
			if
			:: object != ABSENT -> object = ABSENT; createdFor = 0; objectWritten()
			:: else
			fi
		};
		if
		:: setStatus(newest, UNINSTALLED) /* --keep-history */
		:: true ->
			r = 1;
			do
			:: r <= REVISIONS && status[r] != NONE -> d_step { deleteRecord(r); r++ }
			:: r <= REVISIONS && status[r] == NONE -> r++
			:: r > REVISIONS -> r = 0; break
			od
		fi
	:: false ->
change:
		skip;
		if
		:: limit = 100
		:: limit = 1
		:: limit = 2
		fi;
		prune(limit); limit = 0;
		createRecord(declared); declared = 0;
		finish()
	:: false ->
next:
		skip;
		d_step { deployed = 0; declared = 0; limit = 0 }
	od;
	running--
}

/* ---- somebody else ---- */

proctype Tamperer() {
	byte i, done;
	do
	:: done == TAMPERS || true -> break
	:: done < TAMPERS && object != ABSENT ->
		if
		:: d_step { done++;
			if
			:: object != ABSENT && object != TAMPERED ->
				object = TAMPERED; createdFor = 0; objectWritten() /* what a person has written to is not taken back */
			:: else
			fi
		   }
		:: d_step { done++; object = ABSENT; createdFor = 0; objectWritten() }
		fi
	od;
	done = 0;
	running--
}

/* ---- lockers ---- */

#define DRIFT (locked[me] != 0 && want[me] != ABSENT && seen[me] != UNKNOWN && seen[me] != want[me])

/* What the watch of the records has told. It may be told late, and is acted on later still. */
inline relock() {
	d_step {
		if
		:: newest != 0 && status[newest] == DEPLOYED ->
			locked[me] = newest; lockedBy[me] = madeBy[newest]; want[me] = wanted[newest]; same[me] = true;
#ifdef OLDER
			older[me] = newest - 1;
			do
			:: older[me] > 0 && status[older[me]] == NONE -> older[me] = older[me] - 1
			:: else -> break
			od;
			olderSame[me] = older[me] != 0
#endif
		:: else -> forget()
		fi
	}
}

inline forget() {
	locked[me] = 0; lockedBy[me] = 0; want[me] = 0; same[me] = false;
#ifdef OLDER
	older[me] = 0; olderSame[me] = false;
#endif
	skip
}

inline observe() { d_step { seen[me] = object; fresh[me] = object != ABSENT } }

inline blind() { d_step { seen[me] = UNKNOWN; fresh[me] = false; mine[me] = false } }

#define CURRENT (same[me] && newest == locked[me])

/* Is the locked record still the newest of its release? */
inline check() {
#if defined(NOCHECK)
	holds = true
#elif defined(CACHE)
	/* As with NOCHECK: a cache may be as old as the view that the lock was made of. */
	if
	:: holds = true
	:: holds = CURRENT
	fi
#elif defined(NUMBER)
	holds = newest == locked[me] && status[newest] == DEPLOYED
#elif defined(GETS)
	if /* the locked record and the next one, in any order */
	:: holds = same[me]; holds = holds && status[locked[me] + 1] == NONE
	:: holds = status[locked[me] + 1] == NONE; holds = holds && same[me]
	fi
#elif defined(GETS_OLDER)
	if /* the next one; then the locked one and one below it, which Helm would have pruned before the next one */
	:: older[me] == 0 -> holds = CURRENT
	:: else ->
		holds = status[locked[me] + 1] == NONE;
		if
		:: holds = holds && same[me]; holds = holds && olderSame[me]
		:: holds = holds && olderSame[me]; holds = holds && same[me]
		fi
	fi
#elif defined(GETS_OLDER_ANY)
	if
	:: older[me] == 0 -> holds = CURRENT
	:: else ->
		holds = olderSame[me]; holds = holds && same[me];
		holds = holds && status[locked[me] + 1] == NONE
	fi
#else
	holds = CURRENT /* one consistent list */
#endif
}

inline update() {
	d_step {
		if
#ifdef NOPRECONDITION
		:: object != ABSENT ->
#else
		:: object != ABSENT && fresh[me] ->
#endif
			assert(helmWrote <= lockedBy[me]); /* I1 */
			object = want[me]; objectWritten()
#ifdef NOUID
		:: object == ABSENT -> /* an apply creates what does not exist, whatever its resourceVersion */
			assert(helmWrote <= lockedBy[me]); /* I1 */
			object = want[me]; createdFor = lockedBy[me]
#endif
		:: else /* a conflict */
		fi
	}
}

inline crash() {
	d_step { crashes++; forget(); seen[me] = UNKNOWN; fresh[me] = false; mine[me] = false; holds = false }
}

proctype Locker(byte me) {
	byte i;
	bool holds;
	seen[me] = UNKNOWN;
round:
	do
	:: true -> relock()
	:: true -> observe()
	:: DRIFT -> break
	:: crashes < CRASHES -> crash()
	:: running <= LOCKERS -> /* the others have ended: the last word of the watches, then rest */
		relock(); observe();
		if
		:: DRIFT -> break
		:: else -> goto rest
		fi
	od;
#if defined(EARLY)
	holds = CURRENT;
	observe();
	holds = holds && DRIFT;
#elif defined(AT_REVISION)
	/* A view that is known to be at least as new as the object that was observed; it does not matter when it is asked. */
	skip;
	d_step { seen[me] = object; fresh[me] = object != ABSENT; holds = CURRENT && DRIFT };
#else
	check();
#endif
	if
	:: crashes < CRASHES -> crash(); goto round
	:: true
	fi;
	if
	:: !holds -> goto again
	:: holds && seen[me] != ABSENT -> update(); goto again
	:: holds && seen[me] == ABSENT ->
		holds = false;
		d_step {
			if
			:: object == ABSENT -> object = want[me]; createdFor = lockedBy[me]; objectWritten(); mine[me] = true;
#ifdef AT_REVISION
				holds = CURRENT
#endif
			:: else
			fi
		};
		if
		:: !mine[me] -> goto again
		:: mine[me] && crashes < CRASHES -> lostTrack = true; crash(); goto round
		:: mine[me]
		fi;
#ifndef NOSECONDCHECK
#ifndef AT_REVISION
		check();
#endif
		if
		:: crashes < CRASHES -> lostTrack = true; crash(); goto round
		:: true
		fi;
		d_step {
			if
			:: !holds && mine[me] -> object = ABSENT; createdFor = 0; objectWritten()
			:: else
			fi
		};
#endif
	fi;
again:
	holds = false;
	blind();
	goto round;
rest:
	skip;
	d_step { forget(); seen[me] = UNKNOWN; fresh[me] = false };
	running--
}

/* ---- what must be true at the end ---- */

init {
	byte i;
	atomic {
		status[1] = DEPLOYED; wanted[1] = A; madeBy[1] = 1;
		run Helm(); run Tamperer(); run Locker(0);
#if LOCKERS > 1
		run Locker(1);
#endif
	}
	running == 0;
	d_step {
		/* I5: what is deployed is as declared. */
		if
		:: newest != 0 && status[newest] == DEPLOYED && wanted[newest] != ABSENT -> assert(object == wanted[newest])
		:: else
		fi;
		/* I1: what a locker made, and Helm then deleted or counts as deleted, is gone. */
		if
		:: object != ABSENT && createdFor != 0 && createdFor < helmWrote ->
#if defined(HOLE)
			assert(!(newest == 0 || status[newest] == UNINSTALLED || status[newest] == UNINSTALLING))
#else
			assert(lostTrack)
#endif
		:: else
		fi
	}
}
