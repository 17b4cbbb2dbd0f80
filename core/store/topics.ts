/**
 * Topics: which keys a transaction has changed, for the parts that act on the change after the commit. A writer announces keys in its transaction, and
 * knows no subscriber. So no writer can forget a subscriber.
 *
 * Promises:
 * - The store calls each subscriber once per commit, with all keys of its topic, each key once. A transaction that fails announces nothing.
 * - The callbacks of the transaction (`afterCommit`) run first. Then the subscribers run in the order in which they subscribed. The order of the
 *   announcements does not matter.
 * - A subscriber may announce keys, and its own writes may announce keys. The next round delivers them. All rounds end before the outermost `write` or
 *   `announce` returns.
 * - If a subscriber throws, for example because the disk is full, the other subscribers still get the keys. Otherwise a sum in memory would miss a key, and
 *   would stay wrong until the next start. The first error is thrown at the end.
 */

/** A kind of change. `K` is the type of its keys. A key names the changed thing, and is a primitive or an object. Two objects are always two keys. */
export class Topic<K> {
  readonly name: string;
  /** Exists only for the compiler: it gives topics with different key types different types. */
  declare protected readonly keys: K;

  constructor(name: string) {
    this.name = name;
  }
}

/** The announced keys of each topic. */
export type Announced = Map<Topic<never>, Set<unknown>>;

/** A chain of changes has about ten rounds. If two parts answer each other's announcements without end, the program has a bug. */
const roundsMax = 1_000;

interface Subscription {
  readonly topic: Topic<never>;
  readonly listener: (keys: ReadonlySet<never>) => void;
}

/** Subscribes to one key of a topic. The listener is not called for other keys. */
export function subscribeTo<K>(
  store: { subscribe(topic: Topic<K>, listener: (keys: ReadonlySet<K>) => void): () => void },
  topic: Topic<K>,
  key: K,
  changed: () => void,
): () => void {
  return store.subscribe(topic, (keys) => {
    if (keys.has(key)) changed();
  });
}

/** Calls `act` for each item, also when `act` throws for another one. Throws the first error at the end. */
export function forEachOf<T>(items: Iterable<T>, act: (item: T) => void): void {
  const errors: unknown[] = [];
  for (const item of items) attempt(errors, () => act(item));
  if (errors.length > 0) throw errors[0];
}

function attempt(errors: unknown[], act: () => void): void {
  try {
    act();
  } catch (error) {
    errors.push(error);
  }
}

export class Subscriptions {
  readonly #all: Subscription[] = [];
  #waiting: Announced = new Map();
  #isDelivering = false;

  /** Returns the function that ends the subscription. */
  add<K>(topic: Topic<K>, listener: (keys: ReadonlySet<K>) => void): () => void {
    const subscription: Subscription = { topic: topic as Topic<never>, listener: listener as Subscription['listener'] };
    this.#all.push(subscription);
    return () => {
      const at = this.#all.indexOf(subscription);
      if (at >= 0) this.#all.splice(at, 1);
    };
  }

  announce<K>(topic: Topic<K>, keys: readonly K[]): void {
    const announced = new Set<unknown>(keys);
    if (announced.size > 0) this.deliver(new Map([[topic as Topic<never>, announced]]));
  }

  deliver(announced: Announced): void {
    for (const [topic, keys] of announced) for (const key of keys) note(this.#waiting, topic, key);
    if (this.#isDelivering || this.#waiting.size === 0) return;
    this.#isDelivering = true;
    const errors: unknown[] = [];
    try {
      for (let round = 1; this.#waiting.size > 0; round++) {
        if (round > roundsMax) throw new Error(`announcements of ${this.#names()} go on after ${roundsMax} rounds`);
        this.#round(errors);
      }
    } finally {
      this.#waiting = new Map();
      this.#isDelivering = false;
    }
    if (errors.length > 0) throw errors[0];
  }

  #round(errors: unknown[]): void {
    const announced = this.#waiting;
    this.#waiting = new Map();
    for (const { topic, listener } of [...this.#all]) {
      const keys = announced.get(topic);
      if (keys) attempt(errors, () => listener(keys as ReadonlySet<unknown> as ReadonlySet<never>));
    }
  }

  #names(): string {
    return Array.from(this.#waiting.keys(), ({ name }) => name).join(', ');
  }
}

/** The work that follows a transaction: first its callbacks, then its announcements. */
export class AfterCommit {
  readonly #callbacks: (() => void)[] = [];
  readonly #announced: Announced = new Map();

  call(callback: () => void): void {
    this.#callbacks.push(callback);
  }

  announce<K>(topic: Topic<K>, key: K): void {
    note(this.#announced, topic as Topic<never>, key);
  }

  run(subscriptions: Subscriptions): void {
    const steps = [...this.#callbacks, () => subscriptions.deliver(this.#announced)];
    forEachOf(steps, (step) => step());
  }
}

function note(announced: Announced, topic: Topic<never>, key: unknown): void {
  const keys = announced.get(topic);
  if (keys) keys.add(key);
  else announced.set(topic, new Set([key]));
}
