/**
 * A process with the identity of a node, which does not run the product. In each session, it plays one lie to its parents and to its children. It checks
 * whether the other side ends or continues the session, as the rules require. It never uses the legitimate authority of its identity: a parent may empty its
 * children, for example.
 */
import { readAttachment } from '../../../core/session/attach.ts';
import { readSession } from '../../../core/session/handshake.ts';
import { readNodeIdentity } from '../../../core/session/node-identity.ts';
import { Feed, type Frame, type Hello, type ResumeTuple, type Welcome } from '../../../core/wire/generated/mesh.ts';
import type { Link, LinkEvents } from '../../../core/wire/link.ts';
import { Rows } from '../check/rows.ts';
import type { Host } from '../host.ts';
import { Chance } from '../plan/chance.ts';
import type { End } from '../sim-network.ts';
import type { SimProcess } from '../sim-process.ts';
import { answerings, anything } from './answers.ts';
import { lyingCalls } from './calls.ts';
import { helloLies, welcomeLies } from './handshakes.ts';
import { helloOf, type Known, type Lie, liesOf, resumeOf } from './lies.ts';
import { limitLiesOf } from './limits.ts';

/** The time between two lies. */
const pauseMs = 400;
/** How soon a session ends if it has to end. It ends at once, and the close needs a turn. */
const endsWithinMs = 1_000;
const dialTimeoutMs = 2_000;
/**
 * The number of Hellos at once in a storm: more than a parent accepts in a second, so that the parent has to delay some. One in `stormEvery` liars does this,
 * because it costs a few hundred writes.
 */
const stormHellos = 1_000;
const stormEvery = 20;
const silenceMs = 12_000;

export interface LiarOptions {
  readonly chance: number;
  /** True: the liar also plays rare lies, and lies that cost much time. */
  readonly atLimits: boolean;
}

export class Liar {
  readonly #host: Host;
  readonly #simProcess: SimProcess;
  readonly #chance: Chance;
  readonly #options: LiarOptions;

  constructor(host: Host, simProcess: SimProcess, options: LiarOptions) {
    this.#host = host;
    this.#simProcess = simProcess;
    this.#options = options;
    this.#chance = new Chance(options.chance);
  }

  async start(): Promise<void> {
    const { network } = this.#host.world;
    if (this.#host.role !== 'agent') await network.of(this.#host).listen((link) => this.#accept(link as End));
    this.#after(pauseMs, () => void this.#dials());
    if (this.#options.atLimits && this.#options.chance % stormEvery === 0) this.#after(pauseMs, () => this.#storms());
  }

  #storms(): void {
    const { world } = this.#host;
    const [parent] = this.#ownParents;
    const hello = this.#hello();
    if (!parent || !hello) return;
    const dialer = world.network.dialer(this.#host, parent);
    const sendHello = (link: Link) => void link.send({ frame: { $case: 'hello', value: hello } });
    for (let i = 0; i < stormHellos; i++) dialer.dial(deaf, dialTimeoutMs).then(sendHello, () => {});
  }

  // ---------------------------------------------------------------------------------------------------- to a parent

  async #dials(): Promise<void> {
    const { world } = this.#host;
    const parents = this.#ownParents;
    if (parents.length === 0) return;
    const isStray = this.#isRarely(0.05);
    const parent = this.#chance.of(isStray ? strangers(this.#host) : parents);
    const isSilent = this.#isRarely(0.05);
    // This is longer than any wait for a Hello, or for an Open on a call.
    const lingers = isSilent || this.#isRarely(0.15);
    let link: Link | undefined;
    const events: LinkEvents = {
      ...deaf,
      onFrame: ({ frame }) => {
        if (frame?.$case === 'welcome' && link) this.#liesToParent(link as End, frame.value);
      },
    };
    try {
      link = await world.network.dialer(this.#host, parent).dial(events, dialTimeoutMs);
      const hello = this.#hello();
      if (this.#isRarely(0.1)) for (const call of lyingCalls) call(link as End, this.#chance);
      if (hello && !isSilent) this.#sendHello(link as End, hello);
    } catch {
      // The parent did not answer, or the process has ended. If the process still runs, it tries again.
    }
    this.#after(lingers ? silenceMs : pauseMs + this.#chance.below(4 * pauseMs), () => {
      link?.close('enough');
      void this.#dials();
    });
  }

  /**
   * The replicas that the liar dials: only the replica to which its attach sequence belongs. With the same sequence at another replica, the liar would claim
   * that the node is there, and no later report of the node would be newer.
   */
  get #ownParents(): readonly Host[] {
    const { world, rows } = this.#host;
    const parents = world.parentsOf(this.#host);
    const attached = rows.read(readAttachment)?.parent;
    const own = parents.filter(({ id }) => id === attached);
    return own.length > 0 ? own : parents;
  }

  #sendHello(link: End, hello: Hello): void {
    if (!this.#chance.is(0.25)) {
      link.send({ frame: { $case: 'hello', value: hello } });
      return;
    }
    const { rows } = link.connection.host('parent');
    const known = rows.read((reader) => readSession(reader, this.#host.id));
    this.#sendLie(link, this.#chance.of(helloLies(hello, this.#options.atLimits, known?.bootCounter ?? 0)));
  }

  #liesToParent(link: End, { up }: Welcome): void {
    link.send(resumeOf(Feed.FEED_UP, true));
    if (this.#chance.is(0.2)) {
      for (const call of lyingCalls) call(link, this.#chance);
      return;
    }
    const known: Known = { path: this.#host.path, ...placeOf(up) };
    this.#sendLie(link, this.#lieOf('child', known));
  }

  #hello(): Hello | undefined {
    const { rows, path, role } = this.#host;
    const [identity, attachment] = rows.read((reader) => [readNodeIdentity(reader), readAttachment(reader)] as const);
    if (!identity) return undefined;
    return {
      ...helloOf(path),
      role,
      bootCounter: identity.bootCounter,
      bootNonce: Buffer.from(identity.bootNonce, 'hex'),
      attachedNonce: Buffer.from(identity.attachedNonce ?? '', 'hex'),
      attachSequence: attachment?.sequence ?? 0,
    };
  }

  // ---------------------------------------------------------------------------------------------------- to a child

  #accept(link: End): LinkEvents {
    const child = link.connection.child;
    const answers = this.#options.atLimits ? this.#chance.of(answerings) : anything;
    // Sometimes the liar answers before the Hello, or without a reason. Frames after this answer have their usual meaning in a session.
    const isHasty = this.#isRarely(0.08);
    let hasHello = isHasty;
    if (isHasty)
      this.#after(0, () => (this.#chance.is(0.5) ? link.close('not now') : link.send(welcomeOf(this.#chance))));
    return {
      ...deaf,
      onFrame: ({ frame }) => {
        if (frame?.$case === 'hello' && !hasHello) {
          hasHello = true;
          this.#after(this.#chance.below(30), () => this.#liesToChild(link, child, frame.value));
        }
        if (frame?.$case === 'reconcileRequest') link.send(answers(frame.value, this.#chance));
      },
      onStream: (id, call) => ({
        ...deaf,
        onFrame: () => {
          for (const lie of lyingCalls) lie(call as End, this.#chance, id);
        },
      }),
    };
  }

  #liesToChild(link: End, child: Host, { down }: Hello): void {
    if (this.#isRarely(0.3)) return this.#answersOnly(link);
    if (this.#chance.is(0.3)) return this.#sendLie(link, this.#chance.of(welcomeLies(this.#chance, this.#options)));
    const [welcome] = welcomeLies(this.#chance, this.#options, { downResumes: true })[0]!.frames;
    link.send(welcome!);
    const object = objectAt(child);
    const known: Known = { path: child.path, ...placeOf(down), ...(object ? { object } : {}) };
    this.#sendLie(link, this.#lieOf('parent', known));
  }

  /** Sends an honest Welcome. The lie is in the answers to the child's reconciliation. */
  #answersOnly(link: End): void {
    const version = this.#chance.of([1, 2, 3]);
    const [welcome] = welcomeLies(this.#chance, this.#options, { ready: true, version });
    this.#sendLie(link, welcome!);
  }

  // -------------------------------------------------------------------------------------------------------- both

  #isRarely(probability: number): boolean {
    return this.#options.atLimits && this.#chance.is(probability);
  }

  #lieOf(side: 'child' | 'parent', known: Known): Lie {
    return this.#chance.of(this.#isRarely(0.4) ? limitLiesOf(side, known) : liesOf(side, known));
  }

  #sendLie(link: End, lie: Lie): void {
    const { world } = this.#host;
    const { connection } = link;
    const honest = connection.end(link.side === 'child' ? 'parent' : 'child');
    world.note(`${this.#host.title} lies: ${lie.name} (${connection.id})`);
    for (const frame of lie.frames) link.send(frame);
    if (lie.session === 'either') return;
    connection.whenDelivered(link, () => {
      this.#after(endsWithinMs, () => {
        const { simProcess, title } = connection.host(honest.side);
        if (!simProcess.alive || simProcess !== connection.simProcessOf(honest.side)) return;
        const isOver = !connection.isOpen || honest.isClosing || honest.hasLeft;
        if (lie.session === 'ends' && !isOver)
          world.violation(liesEnd, `${title} continues after ${lie.name} of ${this.#host.title}`);
        if (lie.session === 'stays' && honest.isClosing && !isOther.test(honest.closedFor))
          world.violation(liesEnd, `${title} ends after ${lie.name} of ${this.#host.title}: ${honest.closedFor}`);
      });
    });
  }

  #after(ms: number, act: () => void): void {
    this.#host.world.clock.after(ms, () => void this.#simProcess.run(act, (error) => this.#host.failed(error)));
  }
}

const liesEnd = 'a session with a liar ends because of a lie, and for no other reason';

/** Reasons for the end of a session that have nothing to do with the frames. A line that closes properly gives no reason at all. */
const isOther =
  /^$|newer session|has expired|has taken its place|the connection broke|^ended$|^the (parent|child) ends/;

/** The other side's position in the feed of the lie. A feed that never existed begins at any position. */
function placeOf(tuple: ResumeTuple | undefined): Pick<Known, 'epoch' | 'incarnation' | 'cursor'> {
  if (!tuple || tuple.epoch.length === 0)
    return { epoch: Buffer.alloc(16, 3), incarnation: Buffer.alloc(16, 4), cursor: 0 };
  const { epoch, incarnation, cursor } = tuple;
  return { epoch, incarnation: incarnation.length > 0 ? incarnation : Buffer.alloc(16, 4), cursor };
}

/** Nodes that are not the host's parents. If there are none, its parents. The host itself is never among them: no honest node would be at the other end. */
function strangers(host: Host): readonly Host[] {
  const { world } = host;
  const others = [...world.hosts.values()].filter(
    (other) => other !== host && other.role !== 'agent' && other.path !== host.parentPath,
  );
  return others.length > 0 ? others : world.parentsOf(host);
}

function welcomeOf(chance: Chance): Frame {
  return welcomeLies(chance, { atLimits: false })[0]!.frames[0]!;
}

const deaf: LinkEvents = { onFrame() {}, onBytes() {}, onDrain() {}, onClose() {} };

/** An object that the child has from above and that could be poisoned. */
function objectAt(child: Host): Known['object'] {
  return Rows.of(child.rows, (rows) => {
    const table = rows.table('upstream');
    for (const { content, originRevision } of table === undefined ? [] : rows.rows(table).values()) {
      const key = content === undefined ? '' : rows.keyOf(content);
      if (key.startsWith('o/')) return { key, originRevision };
    }
    return undefined;
  });
}
