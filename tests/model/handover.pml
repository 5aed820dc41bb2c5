/*
 * Several HelmReleases for one release: two written by hand, and one that a policy makes while there is none by hand. One of them
 * keeps the release, and hands it over when it is deleted or an earlier one is created. A wake-up that is lost leaves a release
 * unlocked for good (I5), or kept by the wrong one. order.pml has what a lock does. README.md lists what is modelled and what is
 * not; variants.go lists the runs.
 */

#ifndef ACTIONS
#define ACTIONS 4 /* creations and deletions by users */
#endif
#ifndef HANDS
#define HANDS 2   /* names of HelmReleases written by hand */
#endif
#ifndef WORKERS
#define WORKERS 1 /* that reconcile, each a HelmRelease at a time */
#endif
#ifndef CRASHES
#define CRASHES 0 /* of the operator */
#endif

/* Two HelmReleases written by hand, and the policy's. */
#define POLICYS 2
#define N 3

byte api[N];       /* the uid of the one of each name; 0: none. Uids count creations */
byte uids;
byte cached[N];    /* what the watch has told */
bool usersDone;
byte crashes;

/* What the operator knows beside the cache. */
bool queued[N];    /* names that are to be reconciled */
bool busy[N];
bool entry[N];     /* it was handled: where it is gone, it is known which release it was for */
byte behind[N];    /* those that leave their release to this one, as bits */
byte locked[N];    /* the uid of the one for which there is a lock */
bool owns[N];      /* that lock owns the objects: it alone writes to them */
byte conflict[N];  /* one more than the name of the lock that owns them instead */
bool reload[N];    /* its lock is to be made again, though neither it nor the record has changed */
bool plan = true;  /* the policy is to be planned */
bool planning;
byte own;          /* the uid of what the policy has made, until the cache shows it */
bool writing;      /* the request is under way, and none of that name was seen to go */

#define BIT(k) (1 << (k))

/* ---- users, and the watch ---- */

proctype Users() {
	byte done;
	do
	:: done == ACTIONS || true -> break
	:: done < ACTIONS && api[0] == 0 -> d_step { done++; uids++; api[0] = uids }
	:: done < ACTIONS && api[1] == 0 && HANDS == 2 -> d_step { done++; uids++; api[1] = uids }
	:: done < ACTIONS && api[0] != 0 -> d_step { done++; api[0] = 0 }
	:: done < ACTIONS && api[1] != 0 -> d_step { done++; api[1] = 0 }
	:: done < ACTIONS && api[POLICYS] != 0 -> d_step { done++; api[POLICYS] = 0 }
	od;
	usersDone = true
}

inline enqueueAll() {
	i = 0;
	do
	:: i < N -> queued[i] = queued[i] || cached[i] != 0; i++
	:: else -> break
	od;
	i = 0
}

/* The cache follows, at any pace; what comes and goes in a gap of the watch it never shows. */
inline follow(k) {
	d_step {
		cached[k] = api[k]; queued[k] = true; plan = true;
		if
		:: cached[k] != 0 -> enqueueAll()
		:: cached[k] == 0 && k == POLICYS -> writing = false; own = 0
		:: else /* which release it was for is not known any more */
		fi;
#ifndef NOBEHIND
		queued[0] = queued[0] || (behind[k] & 1);
		queued[1] = queued[1] || (behind[k] & 2);
		queued[2] = queued[2] || (behind[k] & 4);
		behind[k] = 0
#endif
	}
}

#define BUSY (busy[0] || busy[1] || busy[2] || planning)

inline forgetOne(k) {
	cached[k] = 0; queued[k] = false; entry[k] = false; behind[k] = 0;
	locked[k] = 0; owns[k] = false; conflict[k] = 0; reload[k] = false
}

inline forget() { forgetOne(0); forgetOne(1); forgetOne(2); own = 0; writing = false }

proctype Watch() {
	byte i;
end:
	do
	:: cached[0] != api[0] -> follow(0)
	:: cached[1] != api[1] -> follow(1)
	:: cached[2] != api[2] -> follow(2)
	/* What an operator knows goes with it. Between two steps of a worker nothing happens outside, so that is no other case. */
	:: atomic { crashes < CRASHES && !BUSY -> crashes++; forget(); plan = true }
	od
}

/* ---- one reconciliation for each name at a time ---- */

/* Written by hand before a policy's, then the one created first. */
#define UID(k) (k == me -> uid : cached[k])
#define BEFORE(a, b) (cached[a] != 0 && a != POLICYS && (b == POLICYS || cached[a] < UID(b)))

inline findFirst() {
	d_step {
		first = me; i = 0;
		do
		:: i == N -> break
		:: i < N ->
			if
			:: i != me && BEFORE(i, first) -> first = i
			:: else
			fi;
			i++
		od;
		firstUid = UID(first); i = 0
	}
}

/* The lock goes; then those are woken that have left objects to it. */
inline unlock() {
	d_step { conflict[me] = 0; gave = locked[me] != 0; locked[me] = 0; owns[me] = false };
	d_step {
		i = 0;
		do
		:: i == N -> break
		:: i < N ->
			if
			:: gave && conflict[i] == me + 1 -> conflict[i] = 0; reload[i] = true; queued[i] = true
			:: else
			fi;
			i++
		od;
		i = 0; gave = false
	}
}

/* Each object has one owner. One that an earlier HelmRelease has locked is left to that, and one of a later one is taken over. */
inline putLock() {
	d_step {
		locked[me] = uid; conflict[me] = 0; reload[me] = false; lost = 0;
#ifdef NOTABLE
		owns[me] = true;
#else
		owns[me] = false; i = 0;
		do
		:: i == N -> break
		:: i < N ->
			if
			:: i != me && owns[i] && locked[i] < uid -> lost = i + 1
			:: i != me && owns[i] && locked[i] > uid -> owns[i] = false; reload[i] = true; queued[i] = true
			:: else
			fi;
			i++
		od;
		owns[me] = lost == 0;
#endif
#ifndef LATECONFLICT
		conflict[me] = lost;
#endif
		assert(owns[0] + owns[1] + owns[2] <= 1); /* never two that write */
		i = 0
	};
#ifdef LATECONFLICT
	conflict[me] = lost;
#endif
	lost = 0
}

inline take(k) { d_step { me = k; queued[k] = false; busy[k] = true; uid = cached[k]; entry[k] = entry[k] || uid != 0 } }

proctype Worker() {
	byte me, i, uid, first, firstUid, lost;
	bool gave;
end:
	do
	:: atomic { queued[0] && !busy[0] -> take(0) }; goto reconcile
	:: atomic { queued[1] && !busy[1] -> take(1) }; goto reconcile
	:: atomic { queued[2] && !busy[2] -> take(2) }; goto reconcile
	:: false ->
reconcile:
		skip;
		if
		:: uid == 0 -> /* it is gone */
			unlock();
			d_step {
				if
				:: entry[me] -> entry[me] = false; enqueueAll()
				:: else
				fi
			}
		:: uid != 0 ->
			findFirst();
			if
			:: first == me && (locked[me] != uid || reload[me]) -> putLock()
			:: first == me && locked[me] == uid && !reload[me] /* it is locked */
			:: first != me ->
				unlock();
				behind[first] = behind[first] | BIT(me);
#ifndef NORECHECK
				lost = firstUid;
				findFirst(); /* its event may have been handled just before */
				d_step {
					queued[me] = queued[me] || first == me || firstUid != lost;
					lost = 0
				}
#endif
			fi
		fi;
		d_step { busy[me] = false; me = 0; uid = 0; first = 0; firstUid = 0 }
	od
}

/* ---- the policy ---- */

#define BY_HAND (cached[0] != 0 || cached[1] != 0)
#define MADE (cached[POLICYS] != 0 || own != 0)

proctype Planner() {
	byte uid;
	bool again;
end:
	do
	:: plan ->
		d_step { plan = false; planning = true };
		if
		:: !BY_HAND && !MADE ->
			writing = true;
			d_step { /* the API server makes it */
				if
				:: api[POLICYS] == 0 -> uids++; uid = uids; api[POLICYS] = uid
				:: else -> uid = 0
				fi
			};
			d_step { /* the answer is there */
				if
				:: uid != 0 && writing && cached[POLICYS] != uid -> own = uid
				:: else
				fi;
				writing = false; uid = 0; again = true
			}
		:: BY_HAND && MADE ->
			d_step {
				uid = (cached[POLICYS] != 0 -> cached[POLICYS] : own);
				if
				:: api[POLICYS] == uid -> api[POLICYS] = 0
				:: else
				fi;
				uid = 0; again = true
			}
		:: else
		fi;
#ifdef NOAGAIN
		again = false;
#endif
		d_step { plan = plan || again; again = false; planning = false } /* until a plan finds nothing to do */
#ifndef NOTIMER
	/* It was never seen, for longer than the watch takes: it is gone. Earlier nothing would come of another request. */
	:: own != 0 && cached[POLICYS] == 0 && api[POLICYS] != own -> d_step { own = 0; plan = true }
#endif
	:: own != 0 && cached[POLICYS] >= own -> own = 0
	od
}

/* ---- what must be true when nothing is left to do ---- */

#define QUIET(k) (cached[k] == api[k] && !queued[k] && !busy[k])
#define KEEPS(k) (owns[k] && locked[k] == api[k])

#ifdef NOTIMER
#define TIMER false
#else
#define TIMER (own != 0 && cached[POLICYS] == 0)
#endif

#ifdef NOPOLICY
#define PLANS false
#else
#define PLANS (plan || planning || TIMER)
#endif

init {
	atomic {
		run Users(); run Watch(); run Worker();
#ifndef NOPOLICY
		run Planner();
#endif
#if WORKERS > 1
		run Worker();
#endif
		skip
	};
	atomic {
		usersDone && QUIET(0) && QUIET(1) && QUIET(2) && !PLANS;
		if
		:: api[0] != 0 && (api[1] == 0 || api[0] < api[1]) -> assert(KEEPS(0))
		:: api[1] != 0 && (api[0] == 0 || api[1] < api[0]) -> assert(KEEPS(1))
		:: api[0] == 0 && api[1] == 0 ->
#ifndef NOPOLICY
			assert(api[POLICYS] != 0); /* the policy's is made again */
			assert(KEEPS(POLICYS))
#endif
			skip
		fi;
		assert(api[POLICYS] == 0 || (api[0] == 0 && api[1] == 0)); /* and deleted again */
		assert((locked[0] != 0) + (locked[1] != 0) + (locked[2] != 0) == (api[0] != 0 || api[1] != 0 || api[POLICYS] != 0))
	}
}
