/** What one thread tells another about one subject. Every message is a hint: it may be lost, and the stores hold the truth. */
type Topic<T> = {
  tell(item: T): void;
  close(): void;
};

/** Tells the thread at the other end of a port what has changed. Messages arrive in the order in which they were sent. */
export type Link = {
  /** Opens a subject: `hear` gets what the other end tells about it. */
  open<T>(subject: string, hear: (item: T) => void): Topic<T>;
};

/** A worker, the port to its parent, or one end of a channel. */
export type Port = {
  postMessage(message: unknown): void;
  on(event: 'message', listener: (message: unknown) => void): unknown;
};

/** Messages that may be on their way. More are dropped, so that a thread that is stuck does not fill the memory. */
const MOST_UNCONFIRMED = 1_024;
/** The receiver confirms that many messages at a time: each confirmation wakes the sender. */
const CONFIRM_EVERY = 256;

type Told = { readonly subject: string; readonly item: unknown };
type Message = { readonly told: readonly Told[] } | { readonly confirmed: number };

/** A method, so that a listener for one type of item fits. */
type Listener = { hear(item: unknown): void };

/** A link that has no port yet, or gets a new one when the thread at the other end was restarted. */
export type Linked = Link & { connect(port: Port): void };

export function createLink(): Linked {
  const listeners = new Map<string, Set<Listener>>();
  let send: (message: Message) => void = () => {};
  let unconfirmed = 0;
  let waiting: Told[] = [];

  function flush(): void {
    const told = waiting;
    waiting = [];
    if (unconfirmed >= MOST_UNCONFIRMED) return;
    unconfirmed += 1;
    send({ told });
  }

  return {
    connect(port) {
      let received = 0;
      unconfirmed = 0;
      send = (message) => port.postMessage(message);
      port.on('message', (message) => {
        if (!isMessage(message)) return;
        if ('confirmed' in message) {
          unconfirmed -= message.confirmed;
          return;
        }
        received += 1;
        if (received % CONFIRM_EVERY === 0) port.postMessage({ confirmed: CONFIRM_EVERY });
        for (const { subject, item } of message.told)
          for (const listener of listeners.get(subject) ?? []) listener.hear(item);
      });
    },

    open<T>(subject: string, hear: (item: T) => void): Topic<T> {
      const listener: Listener = { hear };
      const heard = listeners.get(subject) ?? new Set();
      listeners.set(subject, heard.add(listener));
      return {
        tell(item) {
          waiting.push({ subject, item });
          // What is told together, such as changed documents and the checkpoint that covers them, wakes the other thread once.
          if (waiting.length === 1) process.nextTick(flush);
        },
        close: () => void heard.delete(listener),
      };
    },
  };
}

const isMessage = (message: unknown): message is Message =>
  typeof message === 'object' && message !== null && ('told' in message || 'confirmed' in message);
