let turn = 0;
let isEnding = false;
let hasRequest = false;

/**
 * The number of the current turn of the event loop. Reads of a shared file that happen in one turn may use one check for commits of
 * other connections: the requests of a turn had all been sent before the first of them was handled.
 */
export function loopTurn(): number {
  if (!isEnding) {
    isEnding = true;
    setImmediate(() => {
      isEnding = false;
      hasRequest = false;
      turn += 1;
    });
  }
  return turn;
}

/** Begins a new turn: from here on, reads must see what others have committed by now. */
export function beginLoopTurn(): void {
  turn = loopTurn() + 1;
}

/** Call when a request arrives. The first one of a turn begins a new turn, because timers may have run before it. */
export function requestArrived(): void {
  if (hasRequest) return;
  beginLoopTurn();
  hasRequest = true;
}
