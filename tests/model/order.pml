/*
 * The order proof of I1: no write of a locker undoes a write made by Helm. README.md lists what is modelled and what is not;
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
#ifndef LOSSES
#define LOSSES 0   /* answers that do not come: to a proof, and with LOST to a write */
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
byte begunBy[REVISIONS + 1]; /* the operation that created the record */
bool hook[REVISIONS + 1];    /* as far as its record shows Helm has not come to the objects: a hook comes first */
bool came;                   /* Helm's newest operation has come to the object */
byte newest = 1;             /* the highest revision with a record; 0: none */
byte op = 1;                 /* Helm's newest operation */

byte object = A;
byte helmWrote = 1;          /* the last operation of Helm's that wrote or deleted the object, or left it absent on purpose */
byte helmMeant = 1;          /* as above, or found it as it was meant to be: Helm 3 writes nothing then */
byte meant = A;              /* what that operation meant the object to be */
bool ruined;                 /* another user has changed the object since Helm read or wrote it */
byte putBy;                  /* the operation whose record the locker followed that left the object as it is now; 0: somebody else did */

byte crashes, losses;
#ifdef GUARD
bool asked;                  /* Helm waits for the guard's answer to a request about the object */
#endif
bool lostTrack;              /* a locker crashed between a write and the end of its proof, or has given up the proof */
#ifdef GUARD
byte running = 2;
#else
byte running = LOCKERS + 2;
#endif

/* What each locker knows. */
byte locked[LOCKERS];        /* revision; 0: nothing is locked */
byte lockedBy[LOCKERS];      /* the operation that made its record */
byte want[LOCKERS];
byte seen[LOCKERS];          /* the object as observed */
bool same[LOCKERS];          /* the locked record still has its uid and resourceVersion */
bool fresh[LOCKERS];         /* the object still has the uid and resourceVersion that were seen */
bool mine[LOCKERS];          /* the object is still as this locker wrote it */

/* A write of a locker after which the record was not read again. */
#define UPDATED 1
#define CREATED 2
#define DELETED 3
byte unproven[LOCKERS];      /* which; 0: none */
byte under[LOCKERS];         /* the operation whose record was followed */
byte before[LOCKERS];        /* the object before the write, and after it */
byte wrote[LOCKERS];
bool asks[LOCKERS];          /* the record was asked for after the write, and there was no answer */
byte rested[LOCKERS];        /* Helm's newest operation when hours had passed since the write; 0: they have not */
#ifdef LOST
byte wire[LOCKERS];          /* a write that is still to be carried out, and whose answer does not come; 0: none */
byte wireWants[LOCKERS];
byte wireUnder[LOCKERS];
bool asSent[LOCKERS];        /* the object still is as it was when this was sent */
bool lost[LOCKERS];          /* the unproven write is such a one */
#endif
#ifdef GETS_OLDER
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
inline objectWritten() {
	EACH(fresh[i] = false; mine[i] = false);
#ifdef LOST
	EACH(asSent[i] = false);
#endif
	i = 0
}

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
	status[r] = NONE; wanted[r] = ABSENT; madeBy[r] = 0; begunBy[r] = 0; hook[r] = false;
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
			if
			:: newest == deployed && helmMeant > madeBy[deployed] -> helmMeant = madeBy[deployed]; meant = wanted[deployed]
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
#ifdef HOOKS
	if
	:: hooked = true
	:: hooked = false
	fi;
#endif
	d_step {
		op++; newest++;
		status[newest] = PENDING; wanted[newest] = declared; begunBy[newest] = op; came = false; hook[newest] = hooked;
		recordTouched(newest)
	}
}

#ifdef GUARD
/* The API server asks the guard about every request to change the object, and carries it out when it has the answer. */
inline ask() { asked = true; !asked }
#endif

/*
 * Helm reads the live object, and in a second request writes what it found to differ; what the manifest lacks is deleted. It has no
 * precondition. A creation fails where there is an object, a patch where there is none.
 */
inline writeObject() {
	d_step { found = object; ruined = false; came = true };
#ifdef GUARD
	ask();
#endif
	d_step {
		if
		:: found == wanted[newest] && found != ABSENT -> helmMeant = op; meant = found
		:: found == wanted[newest] && found == ABSENT -> helmMeant = op; helmWrote = op; meant = ABSENT
		:: found != wanted[newest] && wanted[newest] == ABSENT ->
			helmMeant = op; helmWrote = op; ruined = false; meant = ABSENT;
			if
			:: object != ABSENT -> object = ABSENT; putBy = 0; objectWritten()
			:: else
			fi
		:: found != wanted[newest] && wanted[newest] != ABSENT && (found == ABSENT) == (object == ABSENT) ->
			helmMeant = op; helmWrote = op; ruined = false; meant = wanted[newest];
			object = wanted[newest]; putBy = 0; objectWritten()
		:: else -> refused = true
		fi;
		found = ABSENT
	}
}

inline setStatus(r, to) { d_step { status[r] = to; madeBy[r] = 0; recordTouched(r) } }

/* The end of an operation that has come to the objects. */
inline failed() { d_step { hook[newest] = false; status[newest] = FAILED; recordTouched(newest) } }

/* The end of an installation, upgrade or rollback: it succeeds, fails, or Helm dies in the middle. */
inline finish() {
	if
	:: true -> goto next /* killed: the record stays pending */
	:: true -> setStatus(newest, FAILED) /* in a hook that comes first */
	:: hooked -> failed() /* at another object */
	:: true ->
		writeObject();
		if
		:: failed(); refused = false
		:: !refused ->
			d_step { findDeployed(); r = 0 };
			if
			:: deployed != 0 -> setStatus(deployed, SUPERSEDED)
			:: else
			fi;
			d_step { deployed = 0; status[newest] = DEPLOYED; hook[newest] = false; madeBy[newest] = op; recordTouched(newest) }
		fi
	fi
}

proctype Helm() {
	byte i, r, left, oldest, deployed, limit, declared, found;
	bool refused, hooked;
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
		d_step { op++; status[newest] = UNINSTALLING; madeBy[newest] = 0; begunBy[newest] = op; recordTouched(newest) };
		if
		:: true -> goto next /* killed */
		:: true
		fi;
#ifdef GUARD
		ask();
#endif
		d_step {
			helmWrote = op; helmMeant = op; ruined = false; meant = ABSENT;
			if
			:: object != ABSENT -> object = ABSENT; putBy = 0; objectWritten()
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
#ifndef NOLIMIT
		:: limit = 1
		:: limit = 2
#endif
		fi;
		prune(limit); limit = 0;
		createRecord(declared); declared = 0;
		finish()
	:: false ->
next:
		skip;
		d_step { deployed = 0; declared = 0; limit = 0; hooked = false }
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
				object = TAMPERED; ruined = true; putBy = 0; objectWritten() /* what a person has written to is not taken back */
			:: else
			fi
		   }
		:: d_step { done++; /* to what an upgrade may be about to write */
			if
			:: object == A -> object = B; ruined = true; putBy = 0; objectWritten()
			:: object == B -> object = A; ruined = true; putBy = 0; objectWritten()
			:: else
			fi
		   }
		:: d_step { done++; object = ABSENT; ruined = true; putBy = 0; objectWritten() }
		fi
	od;
	done = 0;
	running--
}

/* ---- lockers ---- */

/* The others have ended, and no request is on its way. */
#ifdef LOST
#define RESTED (running <= LOCKERS + 1 && wire[me] == 0)
#else
#define RESTED (running <= LOCKERS)
#endif

#ifdef PRUNES /* what is not declared any more is deleted */
#define DRIFT (locked[me] != 0 && seen[me] != UNKNOWN && seen[me] != want[me])
#else
#define DRIFT (locked[me] != 0 && want[me] != ABSENT && seen[me] != UNKNOWN && seen[me] != want[me])
#endif

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

inline blind() { d_step { seen[me] = UNKNOWN; fresh[me] = false } }

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
			put((want[me] == ABSENT -> DELETED : UPDATED), want[me])
#ifdef NOUID
		:: object == ABSENT -> /* an apply creates what does not exist, whatever its resourceVersion */
			assert(helmWrote <= lockedBy[me]); /* I1 */
			put(UPDATED, want[me])
#endif
		:: else /* a conflict */
		fi
	}
}

inline create() {
	d_step {
		if
		:: object == ABSENT -> put(CREATED, want[me])
		:: else
		fi
	}
}

/* A write of this locker, on behalf of the record that it follows. The record is to be read again. */
inline put(how, what) {
	before[me] = object; wrote[me] = what; under[me] = lockedBy[me];
#if defined(NOSECONDCHECK)
	unproven[me] = 0;
#elif defined(NOAMENDMENT)
	unproven[me] = (how == UPDATED -> 0 : how);
#elif defined(ANYNEWER)
	unproven[me] = (how == DELETED -> 0 : how);
#else
	unproven[me] = how;
#endif
	object = what; putBy = lockedBy[me]; objectWritten(); mine[me] = true; asks[me] = false; rested[me] = 0;
#ifdef LOST
	lostTrack = lostTrack || wire[me] == CREATED; /* the one that is still on its way is remembered no more */
	lost[me] = false;
#endif
	skip
}

inline proven() {
	unproven[me] = 0; under[me] = 0; before[me] = 0; wrote[me] = 0; mine[me] = false; asks[me] = false; rested[me] = 0;
#ifdef LOST
	lost[me] = false;
#endif
	skip
}

inline crash() {
	d_step { crashes++; lostTrack = lostTrack || unproven[me] != 0; proven(); forget(); seen[me] = UNKNOWN; fresh[me] = false; holds = false }
}

#define GONE (newest == 0 || status[newest] == UNINSTALLING || status[newest] == UNINSTALLED)

/* When a creation is taken back. */
#ifdef ANYNEWER
#define TAKE_BACK (newest == 0 || status[newest] != DEPLOYED || begunBy[newest] != under[me])
#else
#define TAKE_BACK (GONE || (wanted[newest] == ABSENT && !HOOK_STANDS))
#endif

/* As far as its record shows, Helm has not come to the objects of the newest revision. */
#ifdef NOHOOKS
#define HOOK_STANDS false
#else
#define HOOK_STANDS hook[newest]
#endif

/* What is not proven waits for the end of Helm's work where that is not known before: Helm may be about to write the object. */
#ifdef REWRITTEN
#define WAITS_FOR_IT (unproven[me] != UPDATED && wanted[newest] != ABSENT)
#else
#define WAITS_FOR_IT (unproven[me] == DELETED && wanted[newest] != ABSENT)
#endif
#define WAITS (unproven[me] != 0 && newest != 0 && status[newest] == PENDING && (HOOK_STANDS || WAITS_FOR_IT))

/* The proof follows the answer. Hours may pass only where the API server does not answer, or Helm's work goes on. */
#ifdef LATE
#define MAY_REST (unproven[me] != 0 && (unproven[me] == UPDATED || asks[me] || WAITS))
#else
#define MAY_REST (unproven[me] != 0 && (asks[me] || WAITS))
#endif

/* Hours pass. What has not been proven by then, or waits for the end of Helm's work, is given up, and that is written down. */
inline hoursPass() {
	d_step {
#if !defined(LATE) && !defined(UNBOUNDED)
		lostTrack = true; proven()
#else
		rested[me] = op
#endif
	}
}

/*
 * No deployment that Helm never made: a write on behalf of a revision that is not deployed gives the object what Helm has come to
 * the object with. Where nothing shows whether it has, it gives back what the locker itself has taken away a moment ago.
 */
#define NEVER_MADE(value) (status[newest] != DEPLOYED && !came && (hook[newest] || value != before[me]))
#define TOO_LATE (newest != 0 && status[newest] != DEPLOYED && rested[me] != 0 && begunBy[newest] > rested[me])

/* The newest record, whatever its status, is what the next write follows. */
inline follow() {
	locked[me] = newest; lockedBy[me] = begunBy[newest]; want[me] = wanted[newest]; same[me] = true
}

/* A creation is taken back; that is a write, too. */
inline takeBack() {
	d_step {
		if
		:: mine[me] -> lockedBy[me] = under[me]; put(DELETED, ABSENT)
		:: else -> proven()
		fi;
		forget()
	}
}

#ifdef LOST
/* The answer does not come, and the locker goes on. The request may be carried out at any time until it has expired. */
inline send(how) {
	d_step {
		losses++;
		unproven[me] = how; before[me] = seen[me]; wrote[me] = want[me]; under[me] = lockedBy[me]; lost[me] = true; asks[me] = true;
		wire[me] = how; wireWants[me] = want[me]; wireUnder[me] = lockedBy[me]; asSent[me] = seen[me] == ABSENT || fresh[me]
	}
}

inline carryOut(by) {
	d_step {
		if
		:: wire[by] == UPDATED && asSent[by] ->
			assert(helmWrote <= wireUnder[by]); /* I1 */
			object = wireWants[by]; putBy = wireUnder[by]; objectWritten()
		:: wire[by] == CREATED && object == ABSENT -> object = wireWants[by]; putBy = wireUnder[by]; objectWritten()
		:: else
		fi;
		wire[by] = 0; wireWants[by] = 0; wireUnder[by] = 0
	}
}

/* The API server carries requests out, or it does not. */
proctype Network() {
	byte i;
	do
	:: wire[0] != 0 -> carryOut(0)
	:: wire[0] != 0 -> d_step { wire[0] = 0; wireWants[0] = 0; wireUnder[0] = 0 }
	:: running == 1 && wire[0] == 0 -> break
	od;
	running--
}

/* The object is read, then the record: the proof is that of a moment after the write. */
#define CARRIED_OUT (unproven[me] == UPDATED && !asSent[me])
#define UNCHANGED (newest != 0 && status[newest] == DEPLOYED && begunBy[newest] == under[me])
inline whenCarriedOut() {
#ifdef RECORDFIRST
	todo = UNCHANGED;
#endif
	if
	:: CARRIED_OUT
	:: !CARRIED_OUT && wire[me] == 0 /* it has expired */
	:: else -> todo = 0; goto round
	fi;
#ifdef RECORDFIRST
	if
	:: todo == true -> todo = 0; d_step { proven() }; goto round
	:: else
	fi;
#endif
	skip
}

/* Which object it is that was created is not known: it is read, then the record again. */
inline takeBackLost() {
	d_step { fresh[me] = object != ABSENT };
	if
	:: GONE ->
		d_step {
			if
			:: fresh[me] -> lockedBy[me] = under[me]; lost[me] = false; put(DELETED, ABSENT)
			:: else -> proven()
			fi;
			forget()
		}
	:: !GONE -> d_step { lostTrack = true; proven() } /* it may be Helm's own */
	fi
}
#endif

/* What Helm has come to the object with, for all that is known. */
#define CAME_WITH (!GONE && !HOOK_STANDS && wanted[newest] != ABSENT)

/* After a write the record is read again. What was written is compared with what is newest then. */
inline confirm() {
	if
	:: losses < LOSSES -> losses++; asks[me] = true; goto round
	:: true
	fi;
#ifdef LOST
	if
	:: lost[me] -> whenCarriedOut()
	:: !lost[me]
	fi;
#endif
	d_step {
		if
		:: WAITS
		:: !WAITS && unproven[me] == CREATED && TAKE_BACK -> todo = DELETED
#ifdef REWRITTEN
		:: !WAITS && unproven[me] == CREATED && !TAKE_BACK && CAME_WITH && wanted[newest] != wrote[me] -> todo = UPDATED; follow()
#endif
		:: !WAITS && unproven[me] == UPDATED && CAME_WITH && wanted[newest] == before[me] && before[me] != wrote[me] ->
			todo = UPDATED; follow()
#ifdef REWRITTEN
		:: !WAITS && unproven[me] == DELETED && CAME_WITH -> todo = CREATED; follow()
#else
		:: !WAITS && unproven[me] == DELETED && CAME_WITH && wanted[newest] == before[me] -> todo = CREATED; follow()
#endif
		:: else -> proven()
		fi;
		assert(todo == 0 || !TOO_LATE);
		assert(todo == 0 || todo == DELETED || !NEVER_MADE(wanted[newest]))
	};
	if
	:: crashes < CRASHES -> crash(); todo = 0
	:: true
	fi;
	if
	:: todo == 0
#ifdef LOST
	:: todo == DELETED && lost[me] -> takeBackLost()
	:: todo == DELETED && !lost[me] -> takeBack()
#else
	:: todo == DELETED -> takeBack()
#endif
	:: todo != 0 && todo != DELETED ->
		d_step { seen[me] = object; fresh[me] = object != ABSENT };
		if
		:: seen[me] != wrote[me] -> d_step { proven() } /* somebody has written since */
		:: seen[me] == wrote[me] ->
			holds = CURRENT;
			if
			:: crashes < CRASHES -> crash()
			:: !holds /* look again */
			:: holds && todo == UPDATED -> update()
			:: holds && todo == CREATED -> d_step { proven() }; create()
			fi
		fi
	fi;
	d_step { todo = 0; holds = false; forget(); seen[me] = UNKNOWN; fresh[me] = false }
}

proctype Locker(byte me) {
	byte i, todo;
	bool holds;
	seen[me] = UNKNOWN;
round:
	do
	:: true -> relock()
	:: true -> observe()
	:: unproven[me] != 0 && !WAITS -> confirm()
	#ifdef LOST
	:: MAY_REST && rested[me] == 0 && wire[me] == 0 -> hoursPass()
#else
	:: MAY_REST && rested[me] == 0 -> hoursPass()
#endif
	:: DRIFT -> break
	:: crashes < CRASHES -> crash()
	:: RESTED && (unproven[me] == 0 || WAITS) -> /* the others have ended: the last word of the watches, then rest */
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
	:: !holds
	:: holds ->
#if defined(LOST) && !defined(REPLACED)
		if
		:: lost[me] /* it may still be carried out, and then this one fails */
		:: else -> d_step { proven() }
		fi;
#else
		d_step { proven() }; /* the write before was answered before this check */
#endif
		if
		:: seen[me] != ABSENT -> update()
		:: seen[me] == ABSENT -> create()
#ifdef LOST
		:: seen[me] != ABSENT && losses < LOSSES && wire[me] == 0 -> send(UPDATED)
		:: seen[me] == ABSENT && losses < LOSSES && wire[me] == 0 -> send(CREATED)
#endif
		fi
	fi;
	holds = false;
	blind();
	goto round;
rest:
	skip;
	d_step { lostTrack = lostTrack || (unproven[me] != 0 && HOOK_STANDS); proven(); forget(); seen[me] = UNKNOWN; fresh[me] = false };
	running--
}

/* ---- the guard ---- */

#ifdef GUARD
/*
 * Its lock may be as old as the watches are late. It takes whatever it is asked about for drift, which is the worst case, and
 * refuses if the newest record is the locked one, as of a moment after it was asked.
 */
proctype Guard(byte me) {
	byte i;
	bool holds;
	do
	:: running > 1 -> relock()
	:: asked ->
#if defined(NOCHECK)
		holds = locked[me] != 0;
#else
		holds = locked[me] != 0 && CURRENT;
#endif
		assert(!holds); /* I13 */
		asked = false
#ifdef EARLY
	:: running > 1 -> holds = locked[me] != 0 && CURRENT; /* before it is asked */
		if
		:: asked -> assert(!holds); asked = false
		:: true
		fi;
		holds = false
#endif
	:: running == 1 -> break /* Helm has ended */
	od;
	skip;
	d_step { forget() };
	running--
}
#endif

/* ---- what must be true at the end ---- */

init {
	byte i;
	atomic {
		status[1] = DEPLOYED; wanted[1] = A; madeBy[1] = 1; begunBy[1] = 1;
#ifdef GUARD
		run Helm(); run Guard(0);
#else
		run Helm(); run Tamperer(); run Locker(0);
#endif
#if LOCKERS > 1 && !defined(GUARD)
		run Locker(1);
#endif
#ifdef LOST
		running++;
		run Network();
#endif
	}
	running == 0;
	d_step {
		/* I5: what is deployed is as declared. */
		if
		:: newest != 0 && status[newest] == DEPLOYED && wanted[newest] != ABSENT -> assert(object == wanted[newest])
		:: else
		fi;
		/*
		 * I1: where a locker had the last word on behalf of an older record, the object is as Helm meant it all the same. Not where
		 * a later operation ended before it came to the object: what is newest then was never made so.
		 */
		if
		:: putBy != 0 && putBy < helmMeant && object != meant && !(newest != 0 && helmMeant < begunBy[newest]) ->
#if defined(HOLE)
			assert(!(newest == 0 || status[newest] == UNINSTALLED || status[newest] == UNINSTALLING))
#else
			assert(lostTrack || meant != ABSENT);                    /* it stays although Helm deleted it */
			assert(lostTrack || meant == ABSENT || object != ABSENT); /* it is gone although Helm counts on it */
			assert(lostTrack || ruined || object == meant)           /* it is as an older revision declares it */
#endif
		:: else
		fi
	}
}
