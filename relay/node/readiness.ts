/**
 * Readiness, both ways: what is missing in a feed is meant to be missing once everything above has arrived, the child has said what is
 * below it, and all of that is worked off. The way up is ready when every relay that is known beforehand has spoken, however long that takes:
 * until then the parent keeps what it was told before, and so goes on to send what the silent one needs. Both stay so while the node runs, unless children show that its store is an older copy.
 */
import type { Store } from '../../core/store/store.ts';
import type { Child } from '../children/children.ts';
import { feedReadyTopic } from '../work/topics.ts';

export interface ReadinessPorts {
  readonly children: ReadonlyMap<string, Child>;
  /** Names of the relays right below that the configuration knows. */
  readonly relays: readonly string[];
  /** A sibling of this node has the relay: its word is not waited for. */
  isElsewhere(relay: string): boolean;
  /** Nothing is left to schedule. */
  quiet(): boolean;
  readonly store: Pick<Store, 'announce'>;
  /** `up` may have changed. */
  upChanged(): void;
}

export class Readiness {
  readonly #ports: ReadinessPorts;
  readonly #readyChildren = new Set<string>();
  /** Children to be looked at: those that changed since the last look, and at first all. */
  #unseen: Set<string> | undefined;
  #caughtUp: boolean;
  /** In this run of the process. */
  #caughtUpNow = false;
  /** Children that came with rows of another history before this node had caught up in this run. */
  readonly #strangers = new Set<string>();
  #everQuiet = false;
  /** Everything above and all that is known of the children has been worked off: it was looked who has not spoken. */
  #hasLookedBelow = false;
  #allReported = false;

  constructor(ports: ReadinessPorts, caughtUp: boolean) {
    this.#ports = ports;
    this.#caughtUp = caughtUp;
  }

  /** For the child's feed. */
  down(child: string): boolean {
    return this.#readyChildren.has(child) && !this.#strangers.has(child);
  }

  /** For the feed to the parent. Undefined: it will be known when what is left to do is done, and that waits for nobody. */
  get up(): boolean | undefined {
    return this.#allReported || (this.#caughtUp && !this.#hasLookedBelow ? undefined : false);
  }

  /** Everything that a ready parent had is here. */
  get isCaughtUp(): boolean {
    return this.#caughtUp;
  }

  /** The same, in this run of the process. */
  get hasReceivedFromParent(): boolean {
    return this.#caughtUpNow;
  }

  /** Why the node is not ready to serve, for its probe. */
  notReady(): string | undefined {
    if (!this.#caughtUp) return 'waiting for the parent';
    return this.#everQuiet ? undefined : 'working off what was left to do';
  }

  /** Everything that a ready parent had is stored here. */
  caughtUp(): void {
    this.#caughtUp = true;
    this.#caughtUpNow = true;
  }

  /** The store was put back: that it had caught up then is nothing now, and its children keep what they have until it has done so again. */
  putBack(): void {
    if (this.#caughtUpNow) return;
    this.#caughtUp = false;
    this.#unseen = undefined;
    const before = [...this.#readyChildren];
    this.#readyChildren.clear();
    this.#ports.store.announce(feedReadyTopic, ...before);
  }

  /** The parent shows it: what is missing in what this node tells it may be lost here, until all that the parent has was heard and worked off. */
  putBackBelow(): void {
    if (this.#caughtUpNow) return;
    this.putBack();
    this.#allReported = false;
    this.#hasLookedBelow = false;
  }

  /**
   * The child has rows that this node did not give, or no longer knows of: by another life of its store, after which an older copy was put back, they may be newer
   * than all that is here. The parent knows; until it was heard in this run, the child keeps what it has. True: it waits.
   */
  hasOtherHistory(child: string): boolean {
    if (this.#caughtUpNow) return false;
    this.#strangers.add(child);
    return true;
  }

  /** What is known of the child may be something else now. */
  childRead(child: string): void {
    this.#unseen?.add(child);
  }

  idle(): void {
    this.#everQuiet = true;
    const { children, relays, quiet, isElsewhere, store, upChanged } = this.#ports;
    if (!this.#caughtUp || !quiet()) return;
    const now: string[] = [];
    for (const name of this.#unseen ?? children.keys()) {
      const child = children.get(name);
      if (child && (child.role === 'agent' || child.hasReportedLabels) && !this.#readyChildren.has(name))
        now.push(name);
    }
    this.#unseen = new Set();
    for (const name of now) this.#readyChildren.add(name);
    if (this.#caughtUpNow) {
      now.push(...this.#strangers);
      this.#strangers.clear();
    }
    store.announce(feedReadyTopic, ...now);
    if (this.#allReported) return;
    const isFirstLook = !this.#hasLookedBelow;
    this.#hasLookedBelow = true;
    this.#allReported = relays.every((name) => this.#readyChildren.has(name) || isElsewhere(name));
    if (this.#allReported || isFirstLook) upChanged();
  }
}
