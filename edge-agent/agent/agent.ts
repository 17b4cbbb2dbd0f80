/**
 * The agent without its connections: it brings the desired table to the cluster, and the state of the cluster to the outbox. Its own store holds everything
 * that it needs to continue. So the agent works the same with and without a parent.
 */
import { CrashGuard } from '../../core/crash/crash-guard.ts';
import { entryKey } from '../../core/entries/entry-keys.ts';
import type { PlacementId } from '../../core/entries/placement-id.ts';
import { quarantinedAttributes } from '../../core/entries/quarantine-report.ts';
import { seenSources } from '../../core/entries/source-incarnations.ts';
import type { NodeAttributes, QuarantinedAttributes } from '../../core/entries/up-attributes.ts';
import type { DeletionLimits } from '../../core/feed/deletions.ts';
import type { AppliedChange } from '../../core/feed/feed.ts';
import { quarantineTopic } from '../../core/feed/topics.ts';
import { accepts } from '../../core/match/acceptance.ts';
import { parseKey } from '../../core/object/key.ts';
import { isDiskLow } from '../../core/store/room.ts';
import { subscribeTo } from '../../core/store/topics.ts';
import type { Applied, AppliedInventory } from '../apply/applied-inventory.ts';
import { Applier } from '../apply/applier.ts';
import { Autoscalers } from '../apply/autoscalers.ts';
import { OrphanAdoption } from '../apply/orphan-adoption.ts';
import { OwnerRecords } from '../apply/owner-records.ts';
import { type RemovalObstacle, RemovalProgress } from '../apply/removal-progress.ts';
import { Causes } from '../causes/causes.ts';
import { Desired, type DesiredChange } from '../desired/desired.ts';
import { deadlyObjects, Poisoned, type PoisonedChange } from '../desired/poisoned.ts';
import { SourceTroubles } from '../desired/source-troubles.ts';
import type { LimitUse } from '../limits/limit-use.ts';
import { OwnLimits } from '../limits/own-limits.ts';
import { Observer } from '../observe/observer.ts';
import { Outbox, type UpFeedEntry } from '../outbox/outbox.ts';
import type { AgentOptions } from './agent-options.ts';
import { EdgeReports } from './edge-reports.ts';
import { nodeReport } from './node-report.ts';
import { SelfDescription } from './self-description.ts';
import { hasBecomeComplete, UpFeedEntries } from './up-feed-entries.ts';

/** How long the agent waits, after a start or after `resume`, for the end of its first work on the cluster before it reports about the cluster. */
const silentStartMaxMs = 10_000;

export class Agent {
  readonly #options: AgentOptions;
  readonly #desired: Desired;
  readonly #records: OwnerRecords;
  readonly #autoscalers: Autoscalers;
  readonly #applier: Applier;
  readonly #observer: Observer;
  readonly #causes: Causes;
  readonly #outbox: Outbox;
  readonly #upFeedEntries: UpFeedEntries;
  readonly #reports: EdgeReports;
  readonly #removalProgress: RemovalProgress;
  readonly #poisoned = new Poisoned();
  readonly #crashes: CrashGuard;
  readonly #description: SelfDescription;
  readonly #limits: OwnLimits;
  readonly #orphanAdoption: OrphanAdoption;
  readonly #sources: SourceTroubles;
  #stopped = false;
  #unsubscribe: (() => void) | undefined;
  /** True: the agent does not know enough about the cluster to report anything about it. */
  #isClusterUnknown: boolean;
  #waitsForCluster = true;

  constructor(options: AgentOptions) {
    this.#options = options;
    this.#isClusterUnknown = options.isHeldBack ?? false;
    const { store, cluster, clock, random, logger } = options;
    this.#crashes = new CrashGuard({ ...options, log: logger, build: options.version });
    this.#desired = new Desired(store, options.downstream, (source, key) => accepts(options.accept, source, key));
    this.#sources = new SourceTroubles(this.#desired);
    this.#quarantineChanged();
    this.#records = new OwnerRecords(store, () => this.#touchNode());
    this.#removalProgress = new RemovalProgress(clock, () => this.#touchNode());
    this.#autoscalers = new Autoscalers({
      cluster,
      clock,
      desired: this.#desired,
      changed: (key) => this.#applier.wantedChanged([key]),
    });
    this.#applier = new Applier(
      {
        path: options.path,
        isHeldBack: options.isHeldBack ?? false,
        cluster,
        clock,
        random,
        logger,
        desired: this.#desired,
        records: this.#records,
        autoscalers: this.#autoscalers,
        crashes: this.#crashes,
        takerOf: (source, key, object) => this.#reports.takerOf(source, key, object),
        healthOf: (key) => this.#observer.observation(key)?.health,
        hasFinalizers: (key) => this.#observer.observation(key)?.hasFinalizers,
        flushed: () => store.flushed(),
      },
      {
        progress: (key) => this.#objectChanged(key),
        seen: (key, live) => this.#observer.seen(key, live),
        recorded: (key) => this.#track(key),
        workEnded: (key) => this.#workEnded(key),
        obstacleChanged: (key, obstacle) => this.#obstacleChanged(key, obstacle),
      },
    );
    this.#observer = new Observer(
      {
        cluster,
        clock,
        isBusy: (key) => this.#applier.isBusy(key),
        hasDrifted: (key, live) => this.#applier.hasDrifted(key, live),
      },
      {
        changed: (key) => {
          this.#applier.observed(key);
          this.#objectChanged(key);
        },
        drifted: (key) => this.#applier.drifted(key),
        ended: (key, observation) => this.#applier.ended(key, observation),
        deletedEarly: (key, uid) => this.#applier.deletedEarly(key, uid),
        kindsChanged: () => {
          this.#kindsChanged();
          this.#description.changed();
        },
        wentBack: () => options.wentBack?.(),
      },
    );
    this.#causes = new Causes({ cluster, clock, logger, changed: (key) => this.#touchObject(key) });
    this.#reports = new EdgeReports(
      {
        path: options.path,
        cluster,
        clock,
        logger,
        desired: this.#desired,
        accept: options.accept,
        placed: () => this.#records.keys(),
        uidOf: (key) => this.#observer.observation(key)?.uid,
      },
      {
        touch: (key) => this.#outbox.touch(key),
        taken: (key) => this.#applier.wantedChanged([key]),
        ruledOutChanged: () => this.#touchNode(),
      },
    );
    this.#description = new SelfDescription({
      cluster,
      clock,
      logger,
      changed: () => this.#touchNode(),
      kindsAdded: () => this.#kindsChanged(),
    });
    this.#limits = new OwnLimits({
      clock,
      logger,
      uses: () => this.limitUses(),
      changed: () => this.#touchNode(),
    });
    this.#orphanAdoption = new OrphanAdoption({
      clock,
      records: this.#records,
      isWanted: (key) => this.#desired.deliveries(key).length > 0,
      recorded: (keys) => {
        for (const key of keys) this.#track(key);
        this.#applier.wantedChanged(keys);
      },
      heldChanged: () => this.#touchNode(),
    });
    this.#outbox = new Outbox({
      clock,
      logger,
      store,
      producer: options.outbox,
      entryOf: (key) => this.#upFeedEntries.entryOf(key),
      isFollowed: (key) => this.#upFeedEntries.isFollowed(key),
      isUrgent: hasBecomeComplete,
      tooLarge: (key, bytes) => this.#reports.tooLarge(key, bytes),
    });
    this.#upFeedEntries = new UpFeedEntries({
      ...options,
      desired: this.#desired,
      poisoned: this.#poisoned,
      records: this.#records,
      applier: this.#applier,
      removalProgress: this.#removalProgress,
      observer: this.#observer,
      causes: this.#causes,
      reports: this.#reports,
      isClusterUnknown: () => this.#isClusterUnknown,
      node: () => this.#nodeEntry(),
      touch: (key) => this.#outbox.touch(key),
    });
    const { quarantine } = options;
    if (quarantine)
      this.#unsubscribe = subscribeTo(store, quarantineTopic, quarantine.name, () => this.#touchQuarantined());
    this.#crashes.listen({ due: (key) => this.#applier.enqueue(key), changed: () => this.#touchQuarantined() });
    this.#desired.onChange((change) => this.#desiredChanged(change));
  }

  start(): void {
    this.#reports.rulesChanged();
    this.#autoscalers.start();
    this.#observer.start();
    for (const key of this.#records.keys()) if (!this.#crashes.isHeldOff(key)) this.#observer.track(key);
    this.#removalProgress.load(this.#records, (key) => this.#desired.deliveries(key).length > 0);
    this.#applier.start();
    this.#touchEverything();
    if (this.#isClusterUnknown) this.#startSilently();
    else this.#afterFirstWork(() => this.#outbox.open());
    this.#description.start();
    this.#limits.start();
  }

  /**
   * The parent drops the agent's old reports about the cluster only when the agent declares its new reports complete. This may take long. So the outbox opens
   * at once: the parent must receive the agent's report about itself.
   */
  #startSilently(): void {
    this.#outbox.open();
    this.#options.clock.after(silentStartMaxMs, () => {
      if (this.#stopped) return;
      this.#waitsForCluster = false;
      this.#options.reportedAllChanged?.();
    });
  }

  #afterFirstWork(act: () => void): void {
    const once = () => {
      timer.stop();
      if (!this.#stopped) act();
    };
    const timer = this.#options.clock.after(silentStartMaxMs, once);
    // While the agent does not know which objects an upsync rule takes, and which an autoscaler scales, the applier leaves those objects alone. So the agent
    // waits for the applier once more after `decided`.
    void this.#applier
      .idle()
      .then(() => Promise.all([this.#reports.decided(), this.#autoscalers.decided()]))
      .then(() => this.#applier.idle())
      .then(once);
  }

  /** Called when the agent knows what is desired. From now on, the agent applies, corrects and removes. */
  resume(): void {
    this.#applier.resume();
    this.#afterFirstWork(() => {
      this.#isClusterUnknown = false;
      this.#touchEverything();
      this.#options.reportedAllChanged?.();
    });
  }

  /** Whether the agent has reported everything that it can report now. A report that is still missing has no content, or the wait for it was too long. */
  get hasReportedAll(): boolean {
    return !this.#isClusterUnknown || !this.#waitsForCluster;
  }

  /** Writes records of objects that this agent applied with another store, so that the agent can remove the unwanted ones. */
  scanAppliedInventory(found: readonly Applied[], limits: DeletionLimits): AppliedInventory {
    return this.#orphanAdoption.adopt(found, limits);
  }

  /** Allows the removal of the objects that the scan has left alone, if these are still the objects that the token names. */
  approveHeldRemovals(token: string): void {
    this.#orphanAdoption.approve(token);
  }

  /** Reports the agent itself and its sources again. Called when a session with the parent begins, and when the held rows change. */
  reportSelf(): void {
    const { store, path } = this.#options;
    this.#outbox.touch(entryKey.node(path));
    for (const source of store.read((reader) => seenSources(reader))) this.#outbox.touch(entryKey.seen(source));
  }

  /** Called after a batch of the down feed has changed these rows. */
  received(changes: readonly AppliedChange[]): void {
    this.#desired.note(changes);
  }

  counts(): { desired: number; placements: number; applied: number } {
    return {
      desired: this.#desired.objects().length,
      placements: this.#desired.placements().length,
      applied: [...this.#records.keys()].length,
    };
  }

  /** How much of its own limits the agent uses. */
  limitUses(): readonly LimitUse[] {
    const memory = this.#options.memory?.();
    return [...(this.#options.cluster.limitUses?.() ?? []), ...(memory ? [memory] : [])];
  }

  /** The quarantined entries from the parent, and the objects whose work ended the process. */
  quarantined(): QuarantinedAttributes | undefined {
    const { store, quarantine } = this.#options;
    const deadly = deadlyObjects(this.#crashes, (key) => this.#desired.deliveries(key)[0]);
    return quarantine && store.read((reader) => quarantinedAttributes(reader, quarantine, deadly)).quarantined;
  }

  /** Resolves when the agent has done everything that it can do now. */
  settled(): Promise<void> {
    return this.#applier.idle();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#unsubscribe?.();
    this.#description.stop();
    this.#limits.stop();
    this.#removalProgress.stop();
    this.#orphanAdoption.stop();
    this.#outbox.close();
    this.#reports.stop();
    this.#observer.stop();
    this.#autoscalers.stop();
    this.#causes.stop();
    this.#crashes.stop();
    await this.#applier.stop();
    this.#crashes.end();
  }

  // --------------------------------------------------------------------------------------------- what has changed

  #desiredChanged({ deliveries, placements, withdrawn, deletions, rules }: DesiredChange): void {
    // The rules come before the objects of the same batch: the agent does not apply an object that a rule takes.
    if (rules) this.#reports.rulesChanged();
    this.#autoscalers.desiredChanged(deliveries.map(({ key }) => key));
    this.#applier.wantedChanged(new Set(deliveries.map(({ key }) => key)), deliveries);
    this.#applier.deletionChanged(deletions);
    this.#applier.placementsChanged(placements);
    for (const { source, key, placements } of deliveries) {
      if (this.#desired.deliveries(key).length > 0) this.#endRemoval(key);
      else if (this.#records.get(key) || this.#applier.isBusy(key)) this.#removalProgress.begin(key, placements);
      this.#outbox.touch(entryKey.state(source, parseKey(key)));
      this.#objectChanged(key);
      this.#track(key);
    }
    for (const id of placements) this.#outbox.touch(entryKey.partial(id));
    for (const id of new Set([...placements, ...withdrawn])) this.#outbox.touch(entryKey.gone(id));
    if (this.#sources.changed(deliveries.map(({ key }) => key))) this.#touchNode();
  }

  #kindsChanged(): void {
    this.#applier.kindsChanged();
    this.#reports.kindsChanged();
  }

  /**
   * Called when something begins or ceases to hinder the removal of an unwanted object. The reports of the object's placements give the reason. If the object
   * has no placement any more, the report of the node gives the reason.
   */
  #obstacleChanged(key: string, obstacle: RemovalObstacle | undefined): void {
    if (!this.#removalProgress.noteObstacle(key, obstacle)) return;
    for (const id of this.#removalProgress.placementsOf(key)) this.#outbox.touch(entryKey.partial(id));
    this.#touchNode();
  }

  /** Ends the removal: the object is gone from the cluster, or a placement wants the object again. */
  #endRemoval(key: string): void {
    if (this.#removalProgress.hasObstacle(key)) this.#touchNode();
    for (const id of this.#removalProgress.end(key)) {
      this.#outbox.touch(entryKey.partial(id));
      this.#outbox.touch(entryKey.gone(id));
    }
  }

  #objectChanged(key: string): void {
    this.#reports.placed(key);
    const isDesired = this.#desired.deliveries(key).length > 0;
    this.#causes.observed(key, isDesired ? this.#observer.observation(key)?.health : undefined);
    this.#touchObject(key);
  }

  #touchObject(key: string): void {
    for (const delivery of [...this.#desired.deliveries(key), ...this.#desired.refused(key)]) {
      this.#outbox.touch(entryKey.state(delivery.source, parseKey(key)));
      for (const id of delivery.placements) this.#outbox.touch(entryKey.partial(id));
    }
  }

  /** Called when the work on the object has ended, perhaps before the object was made. */
  #workEnded(key: string): void {
    this.#observer.workEnded(key);
    if (!this.#records.get(key)) this.#endRemoval(key);
    // After successful work on a suspect object, the agent watches the object again. It also looks at the object once more, because nobody watched what the
    // cluster did with it meanwhile.
    else if (!this.#crashes.isHeldOff(key) && this.#observer.track(key)) this.#applier.enqueue(key);
  }

  /** Watches the object if it is on record: the agent may have brought it to the cluster. Otherwise ends the watch. */
  #track(key: string): void {
    if (this.#records.get(key)) {
      if (!this.#crashes.isHeldOff(key)) this.#observer.track(key);
      return;
    }
    this.#observer.untrack(key);
    this.#reports.placed(key);
    this.#endRemoval(key);
  }

  #touchEverything(): void {
    this.#outbox.touchAll();
    for (const key of this.#desired.objects()) this.#objectChanged(key);
    for (const key of this.#desired.refusedObjects()) this.#touchObject(key);
    for (const id of this.#desired.placements()) this.#outbox.touch(entryKey.partial(id));
    for (const id of this.#desired.withdrawn().keys()) this.#outbox.touch(entryKey.gone(id));
    this.#touchQuarantined();
  }

  /** Called when the set of quarantined entries has changed. */
  #touchQuarantined(): void {
    const { states, placements } = this.#quarantineChanged();
    for (const { source, object } of states) this.#outbox.touch(entryKey.state(source, object));
    for (const id of placements) this.#outbox.touch(entryKey.partial(id));
    this.#touchNode();
  }

  #quarantineChanged(): PoisonedChange {
    const { store, quarantine } = this.#options;
    const flawed = quarantine ? store.read((reader) => quarantine.quarantined(reader)) : [];
    const deadly = deadlyObjects(this.#crashes, (key) => this.#desired.deliveries(key)[0]);
    return this.#poisoned.set(
      [...flawed, ...deadly],
      (source, key) => this.#desired.deliveryOf(source, key)?.placements ?? [],
    );
  }

  /** The trouble of a removal that is stuck. If the agent can't use its cluster, the report shows the trouble of the cluster instead. */
  #removalTrouble(): Pick<NodeAttributes, 'trouble'> {
    const isReported = (id: PlacementId) => this.#desired.placement(id) !== undefined;
    const trouble = this.#removalProgress.trouble(isReported);
    return trouble ? { trouble } : {};
  }

  #touchNode(): void {
    this.#outbox.touch(entryKey.node(this.#options.path));
  }

  #nodeEntry(): UpFeedEntry {
    const { version, store, held, diverged, waiting, certificateTrouble, trust } = this.#options;
    return nodeReport({
      version,
      description: { ...this.#removalTrouble(), ...this.#description.reported },
      limit: this.#limits.reported,
      held: store.read((reader) => held?.(reader)) ?? this.#orphanAdoption.held,
      quarantined: this.quarantined(),
      diverged: diverged?.(),
      waiting: waiting?.(),
      certificateTrouble: certificateTrouble?.(),
      trust: trust?.(),
      sources: this.#sources.reported(this.#reports.ruledOut()),
      isDiskLow: isDiskLow(store),
      hasDelivered: !this.#records.isEmpty,
    });
  }
}
