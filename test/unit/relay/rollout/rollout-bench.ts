/**
 * A rollout without the wire: an origin with its space, its selection and its controllers, and last hops below it, each with its own store and its agents.
 * Rows go from table to table, in any order that the test chooses. An agent reports about the objects in its mailbox.
 */

import type { Space } from '../../../../core/apiserver/space.ts';
import type { TargetAttributes } from '../../../../core/entries/down-attributes.ts';
import { entryKey } from '../../../../core/entries/entry-keys.ts';
import { placementId } from '../../../../core/entries/placement-id.ts';
import { LocalTable } from '../../../../core/feed/table.ts';
import { mergeLabelSummaries } from '../../../../core/match/label-summary.ts';
import { hash128 } from '../../../../core/object/hash.ts';
import type { KubeObject } from '../../../../core/object/meta.ts';
import type { GateResult } from '../../../../core/rollout/gates.ts';
import type { Webhook } from '../../../../core/rollout/spec.ts';
import { VirtualClock } from '../../../../core/runtime/clock.ts';
import { silentLogger } from '../../../../core/runtime/logger.ts';
import { SeededRandom } from '../../../../core/runtime/random.ts';
import { asText, text } from '../../../../core/store/bytes.ts';
import { MemoryStore } from '../../../../core/store/memory/memory-store.ts';
import { emptyPartial, encodePartial } from '../../../../core/summary/partial.ts';
import type { Child } from '../../../../relay/children/children.ts';
import { Customization } from '../../../../relay/customize/customization.ts';
import { Gather } from '../../../../relay/gather/status/gather.ts';
import { type PlacementStatus, placementStatus } from '../../../../relay/gather/status/placement-status.ts';
import { Mailboxes } from '../../../../relay/mailbox/mailboxes.ts';
import { MoveStore } from '../../../../relay/moves/move-store.ts';
import { Placements } from '../../../../relay/placements/placements.ts';
import { Controllers, type RolloutOrigin } from '../../../../relay/rollout/controllers.ts';
import { Exposures } from '../../../../relay/rollout/exposure.ts';
import { HandedReleases } from '../../../../relay/rollout/handed.ts';
import { Scheduler } from '../../../../relay/schedule/schedule.ts';
import { noteSourceChange } from '../../../../relay/schedule/source-changes.ts';
import { openWorkloadSpace, type WorkloadSpace } from '../../../../relay/spaces/own-spaces.ts';
import { markDirty } from '../../../../relay/work/dirty.ts';
import {
  contributionTopic,
  ownContributionTopic,
  type PlacementAtChild,
  splitAtChild,
} from '../../../../relay/work/topics.ts';
import { noGuard } from '../../../support/no-guard.ts';
import { openPassage } from '../../../support/open-passage.ts';
import { ScheduleSteps } from '../../../support/schedule-steps.ts';
import { Turns } from '../../core/apiserver/lifecycle/turns.ts';
import { factsOf } from '../support/facts.ts';

const source = 'center.retail';
export const id = placementId(source, 'shop');

/** A node with children; `restart` makes everything that is only in memory again. */
class BenchNode {
  readonly store = new MemoryStore();
  readonly known = new Map<string, Child>();
  readonly offline = new Set<string>();
  readonly turns = new Turns();
  /** The age of the incoming rows. */
  authorizationAgeMs = 0;
  admitted: (children: number) => void = () => undefined;
  readonly #clock: VirtualClock;
  readonly #reported = new Map<string, LocalTable>();
  readonly #random = new SeededRandom(1);
  table: LocalTable;
  mailboxes!: Mailboxes;
  placements!: Placements;
  exposures!: Exposures;
  customization!: Customization;
  gather!: Gather;
  #scheduler!: Scheduler;
  #children!: Map<string, Child>;
  readonly #steps = new ScheduleSteps(this.store);
  #boots = 0;

  constructor(clock: VirtualClock) {
    this.#clock = clock;
    this.table = this.store.write((t) => LocalTable.open(t, `source/${source}`));
    this.store.subscribe(contributionTopic, (keys) => this.#contributionsChanged(keys));
    this.restart();
  }

  restart(): void {
    this.exposures?.stop();
    this.mailboxes = new Mailboxes(this.store, this.#random, `boot-${this.#boots++}`, '');
    this.placements = new Placements();
    this.#children = new Map(this.known);
    this.exposures = new Exposures({
      pathOf: (child) => `uid-${child}`,
      handed: new HandedReleases({
        hasReplicas: false,
        children: this.#children,
        mailboxOf: (child) => this.mailboxes.get(child)?.producer,
        reportedOf: (child) => this.#reported.get(child),
        hasOtherHistory: () => false,
      }),
      store: this.store,
      clock: this.#clock,
      placements: this.placements,
      tableOf: () => this.table,
      authorizationAgeMs: () => this.authorizationAgeMs,
      defer: this.turns.schedule,
    });
    const mailboxOf = (child: string) => this.mailboxes.get(child)?.producer;
    this.customization = new Customization({
      tableOf: () => this.table,
      children: this.#children,
      placements: this.placements,
      mailboxOf,
      pathOf: (child) => child,
      counted: () => undefined,
    });
    this.#scheduler = new Scheduler({
      tableOf: () => this.table,
      mailboxOf,
      children: this.#children,
      placements: this.placements,
      refreshChild: (t, name) => {
        const child = this.known.get(name);
        if (!child) return false;
        this.mailboxes.ensure(t, name, child.role);
        this.#children.set(name, child);
        this.customization.childChanged(t, name, true);
        return true;
      },
      askedChanged: () => undefined,
      auxiliaryChanged: (t, of, key) => this.customization.auxiliaryChanged(t, of, key),
      releases: this.exposures,
      stages: [this.exposures, this.customization],
      passage: openPassage,
      covered: () => ({}),
      guard: noGuard,
    });
    this.gather = new Gather({
      placements: this.placements,
      children: this.#children,
      reportedOf: (child) => this.#reported.get(child),
      connection: (child) => ({ connected: !this.offline.has(child), silentMs: this.offline.has(child) ? 1_000 : 0 }),
      heldBack: (of, child) => this.customization.failures(of, child),
      rollouts: this.exposures,
      moves: new MoveStore(this.#clock),
      pathOf: (child) => child,
      mailboxOf: () => undefined,
    });
    this.store.read((reader) => {
      this.#scheduler.load(reader);
      this.exposures.load(reader);
      this.customization.load(reader);
      // As a node does at its start: it reports every placement.
      this.gather.total(reader, id);
    });
  }

  #contributionsChanged(keys: ReadonlySet<PlacementAtChild>): void {
    const contributions = Array.from(keys, splitAtChild);
    this.admitted(contributions.length);
    this.store.read((reader) => {
      for (const { id: of, child } of contributions) this.gather.childChanged(reader, of, child);
    });
  }

  child(child: Child): void {
    this.known.set(child.name, child);
    this.#reported.set(
      child.name,
      this.#reported.get(child.name) ?? this.store.write((t) => LocalTable.open(t, `said/${child.name}`)),
    );
    this.store.write((t) => markDirty(t, 'child', child.name));
  }

  work(): void {
    for (let more = true, steps = 0; more; steps++) {
      if (steps > 1_000) throw new Error('the scheduler does not come to rest');
      const step = this.#steps.step(this.#scheduler);
      more = step.more;
      this.store.read((reader) => {
        for (const changed of step.changed) this.gather.refresh(reader, changed);
        for (const [changed, children] of step.changedWith) {
          for (const child of children) this.gather.childChanged(reader, changed, child);
        }
      });
    }
  }

  report(child: string, body: Uint8Array): void {
    const table = this.#reported.get(child)!;
    const content = { key: entryKey.partial(id), attributes: text('{}'), body };
    this.store.write((t) => table.put(t, content, 0));
    this.store.read((reader) => this.gather.childChanged(reader, id, child));
  }

  look(child: string): void {
    this.store.read((reader) => this.gather.childChanged(reader, id, child));
  }

  /** Objects of a mailbox by name, with their texts; under `target` the target of exact reports. */
  mailbox(child: string): Record<string, string> {
    const producer = this.mailboxes.get(child)?.producer;
    if (!producer) return {};
    return this.store.read((reader) => {
      const shown: Record<string, string> = {};
      for (const row of producer.rows(reader)) {
        const { key, body, attributes } = producer.content(reader, row.content!);
        if (key.startsWith('t/')) shown.target = asText(attributes);
        else if (key.startsWith('o/') && key.includes('/configmaps/')) {
          const { data } = JSON.parse(asText(body)) as { data: { text: string } };
          shown[key.split('/').at(-1)!] = data.text;
        }
      }
      return shown;
    });
  }
}

export interface AgentOf {
  readonly hop: string;
  readonly name: string;
  readonly labels: Record<string, string>;
}

export class RolloutBench {
  readonly clock = new VirtualClock();
  readonly origin = new BenchNode(this.clock);
  readonly hops = new Map<string, BenchNode>();
  readonly agents: AgentOf[] = [];
  /** Hops that receive and send nothing. */
  readonly cutOff = new Set<string>();
  /** The order in which a hop gets rows; by default the order of their writes. */
  order: (keys: string[]) => string[] = (keys) => keys;
  /** The highest number of agents to which one last hop has handed a release at once. */
  admitted: (children: number) => void = () => undefined;
  /** All rows come in one batch, and not each in one of its own. */
  isBatched = false;
  /** Called after each row that a hop has stored, before the hop acts on it. */
  stored: (key: string, hop: BenchNode) => void = () => undefined;
  /** Called after each row that a hop has processed. */
  watch: () => void = () => undefined;
  readonly answers: GateResult[] = [];
  readonly asked: { webhook: Webhook; question: object }[] = [];
  #workload: WorkloadSpace;
  controllers: Controllers;
  readonly #woken = new Set<string>();

  constructor(hops: readonly string[], perHop: number, labels: (i: number) => Record<string, string> = () => ({})) {
    this.#workload = this.#open();
    this.controllers = this.#control();
    this.origin.store.subscribe(ownContributionTopic, (ids) => {
      for (const of of ids) this.#woken.add(of);
    });
    for (const hop of hops) {
      const node = new BenchNode(this.clock);
      this.hops.set(hop, node);
      node.admitted = (children) => this.admitted(children);
      for (let i = 0; i < perHop; i++) {
        const agent = { hop, name: `${hop}-${i}`, labels: { env: 'prod', ...labels(this.agents.length) } };
        this.agents.push(agent);
        node.child(agentChild(agent.name, agent.labels));
      }
      const sets = [{ labels: { env: 'prod' }, leaves: perHop }];
      const summary = mergeLabelSummaries([{ leaves: perHop, sets }]);
      this.origin.child({ name: hop, role: 'relay', destinations: [], labels: summary });
    }
    this.space.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'shop' } });
    this.settle();
  }

  get space(): Space {
    return this.#workload.space;
  }

  // -------------------------------------------------------------------------------------------------------- writes

  place(rollout: object, more: object = {}, annotations: Record<string, string> = {}): void {
    const spec = {
      locationSelectors: [{ matchLabels: { env: 'prod' } }],
      downsync: [{ apiGroup: '', resources: ['configmaps'], namespaces: ['shop'] }],
      rollout,
      ...more,
    };
    this.#apply({
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'EdgePlacement',
      metadata: { name: 'shop', annotations },
      spec,
    });
  }

  /** Made with a Customizer if one is named. */
  write(name: string, value: string, customizer?: string): void {
    const annotations = customizer === undefined ? {} : { 'edge.banyan.io/customizer': customizer };
    const metadata = { name, namespace: 'shop', annotations };
    this.#apply({ apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { text: value } });
  }

  /** Puts `value` in the place of the text. */
  customizer(name: string, value: string): void {
    this.#apply({
      apiVersion: 'edge.banyan.io/v1alpha1',
      kind: 'Customizer',
      metadata: { name, namespace: 'shop' },
      spec: { replacements: [{ path: '$.data.text', value }] },
    });
  }

  removeCustomizer(name: string): void {
    this.space.delete({ group: 'edge.banyan.io', resource: 'customizers', namespace: 'shop', name });
  }

  remove(name: string): void {
    this.space.delete({ group: '', resource: 'configmaps', namespace: 'shop', name });
  }

  gate(name: string, status: object): void {
    const gate = { apiVersion: 'edge.banyan.io/v1alpha1', kind: 'RolloutGate', metadata: { name }, spec: {} };
    const known = this.space.get(this.space.keyOf(gate)) ?? this.space.create(gate);
    this.space.update({ ...known, status } as KubeObject, { subresource: 'status' });
  }

  #apply(object: KubeObject): void {
    this.space.apply(object, { fieldManager: 'test', force: true });
  }

  // ---------------------------------------------------------------------------------------------------------- time

  /** All nodes work, and then `ms` pass. */
  turn(ms = 500): void {
    this.settle();
    this.clock.advance(ms);
  }

  until(what: string, holds: () => boolean, turns = 200): void {
    for (let i = 0; i < turns && !holds(); i++) this.turn();
    if (!holds()) throw new Error(`did not come about: ${what}; ${this.status().rollout?.message}`);
  }

  /** Runs until no work is left at this moment. */
  settle(): void {
    for (let round = 0; round < 4; round++) {
      while (this.origin.store.write((t) => this.#workload.selection.step(t))) this.origin.turns.settle();
      this.origin.work();
      for (const [name, node] of this.hops) {
        if (!this.cutOff.has(name)) this.#receive(name, node);
        node.work();
        this.#reports(name, node);
        node.turns.settle();
        node.work();
        this.#reports(name, node);
        if (!this.cutOff.has(name)) this.#reportTotal(name, node);
      }
      if (this.origin.placements.get(id)) this.controllers.run(id);
    }
  }

  restartOrigin(): void {
    this.controllers.stop();
    this.#workload.close();
    this.origin.restart();
    this.#workload = this.#open();
    this.controllers = this.#control();
  }

  connect(hop: string, connected: boolean): void {
    if (connected) {
      this.cutOff.delete(hop);
      this.origin.offline.delete(hop);
    } else {
      this.cutOff.add(hop);
      this.origin.offline.add(hop);
    }
    this.origin.look(hop);
  }

  /** The store of the hop is lost; the origin sends everything once more. */
  loseStore(hop: string): void {
    this.hops.get(hop)!.exposures.stop();
    const node = new BenchNode(this.clock);
    node.admitted = (children) => this.admitted(children);
    this.hops.set(hop, node);
    for (const { name, labels } of this.agents.filter((agent) => agent.hop === hop)) {
      node.child(agentChild(name, labels));
    }
  }

  connectAgent({ hop, name }: AgentOf, connected: boolean): void {
    const node = this.hops.get(hop)!;
    if (connected) node.offline.delete(name);
    else node.offline.add(name);
    node.look(name);
  }

  /** Adds one agent. */
  join(agent: AgentOf): void {
    this.agents.push(agent);
    this.hops.get(agent.hop)!.child(agentChild(agent.name, agent.labels));
    this.settle();
  }

  // ---------------------------------------------------------------------------------------------------------- looks

  status(): PlacementStatus {
    const total = this.origin.store.read((reader) => this.origin.gather.total(reader, id));
    return placementStatus(total ?? emptyPartial(0, 0), [], 'now', this.controllers.outcome(id));
  }

  holds({ hop, name }: AgentOf): Record<string, string> {
    const { target: _target, ...objects } = this.hops.get(hop)!.mailbox(name);
    return objects;
  }

  /** The origin revision of the agent's object, or of its tombstone. */
  revisionOf({ hop, name }: AgentOf, object: string): number {
    const { store, mailboxes } = this.hops.get(hop)!;
    const key = entryKey.object(source, { group: '', resource: 'configmaps', namespace: 'shop', name: object });
    return store.read((reader) => mailboxes.get(name)?.producer.get(reader, hash128(key))?.originRevision ?? 0);
  }

  /** Agents whose mailbox has this text. */
  having(name: string, value: string | undefined): AgentOf[] {
    return this.agents.filter((agent) => this.holds(agent)[name] === value);
  }

  /** Keys of the rows with promoted objects. */
  kept(): string[] {
    return this.origin.store.read((reader) =>
      [...this.origin.table.rows(reader)]
        .map((row) => this.origin.table.content(reader, row.content!).key)
        .filter((key) => key.startsWith('q/') || key.startsWith('c/')),
    );
  }

  // ---------------------------------------------------------------------------------------------------------- wires

  #open(): WorkloadSpace {
    const { store, turns } = this.origin;
    const ports = {
      store,
      clock: this.clock,
      random: new SeededRandom(2),
      log: silentLogger,
      defer: turns.schedule,
      path: '',
    };
    return openWorkloadSpace(ports, 'retail', source);
  }

  #control(): Controllers {
    const { space, selection } = this.#workload;
    const origins: RolloutOrigin[] = [{ source, space, baseline: selection.baseline }];
    return new Controllers({
      store: this.origin.store,
      clock: this.clock,
      origins: () => origins,
      total: (t, of) => this.origin.gather.total(t, of),
      ask: async (webhook, question) => {
        this.asked.push({ webhook, question });
        return this.answers.shift() ?? { passed: false, failed: false, message: 'no answer' };
      },
    });
  }

  /** All differences between the origin's mailbox of the hop and the hop's own rows. */
  #receive(hop: string, node: BenchNode): void {
    const { producer } = this.origin.mailboxes.get(hop) ?? {};
    if (!producer) return;
    const rows = this.origin.store.read((reader) =>
      [...producer.rows(reader)]
        .sort((a, b) => a.revision - b.revision)
        .map((row) => ({ ...producer.content(reader, row.content!), revision: row.originRevision })),
    );
    const sent = new Map(rows.map((row) => [row.key, row]));
    const own = node.store.read((reader) =>
      [...node.table.rows(reader)].map((row) => node.table.content(reader, row.content!).key),
    );
    // Tombstones first: there they were written before the rows that came after them.
    for (const key of this.order([...own.filter((key) => !sent.has(key)), ...sent.keys()])) {
      const isNews = node.store.write((t) => {
        const keyHash = hash128(key);
        const row = node.table.get(t, keyHash);
        const before = row?.content && node.table.content(t, row.content);
        const after = sent.get(key);
        const changed = after
          ? node.table.put(t, { key, attributes: after.attributes, body: after.body }, after.revision)
          : node.table.remove(t, keyHash);
        if (!changed) return false;
        const tombstone = this.origin.store.read((reader) => producer.get(reader, keyHash));
        const originRevision = after?.revision ?? tombstone?.originRevision ?? 0;
        noteSourceChange(t, {
          key,
          keyHash,
          originRevision,
          ...(before ? { before } : {}),
          ...(after ? { after } : {}),
        });
        return true;
      });
      if (isNews) this.stored(key, node);
      if (this.isBatched) continue;
      node.work();
      this.watch();
    }
  }

  #reports(hop: string, node: BenchNode): void {
    for (const { name } of this.agents.filter((agent) => agent.hop === hop && !node.offline.has(agent.name))) {
      const { target, ...objects } = node.mailbox(name);
      if (!target) continue;
      const { generation, target: of } = JSON.parse(target) as TargetAttributes;
      const failed = Object.values(objects).includes('broken');
      const partial = emptyPartial(generation, of);
      const counts = { ...partial.counts, expected: 1, fresh: 1, available: Number(!failed), failed: Number(failed) };
      node.report(name, encodePartial({ ...partial, counts }));
    }
  }

  #reportTotal(hop: string, node: BenchNode): void {
    const total = node.store.read((reader) => node.gather.total(reader, id));
    if (total) this.origin.report(hop, encodePartial(total));
  }
}

function agentChild(name: string, labels: Record<string, string>): Child {
  const destination = {
    location: name,
    syncTargetUid: `uid-${name}`,
    labels,
    evaluate: () => false,
    facts: factsOf(name, labels),
  };
  return { name, role: 'agent', destinations: [destination] };
}
