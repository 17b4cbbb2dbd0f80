/** Invalid hellos and welcomes. */
import type { Frame, Hello, Welcome } from '../../../core/wire/generated/mesh.ts';
import type { Chance } from '../plan/chance.ts';
import type { Lie } from './lies.ts';
import { earlyLies } from './limits.ts';

/** `knownStart` is the boot counter that the parent has stored. It is 0 if the parent has dropped it, for example together with the SyncTarget of the node. */
export function helloLies(hello: Hello, atLimits: boolean, knownStart: number): Lie[] {
  const of = (name: string, session: Lie['session'], change: Partial<Hello>, ...more: Frame[]): Lie => ({
    name,
    session,
    frames: [{ frame: { $case: 'hello', value: { ...hello, ...change } } }, ...more],
  });
  const beat: Frame = { frame: { $case: 'fin', value: { stream: 1 } } };
  const tuple = { epoch: Buffer.alloc(16, 1), incarnation: Buffer.alloc(16, 2), cursor: 2 ** 47, seenHead: 2 ** 47 };
  const held = Array.from({ length: 1_000 }, (_, i) => ({ contentHash: Buffer.alloc(16, i % 256), bytes: 2 ** 40 }));
  const flawed = [
    of('another role', 'ends', { role: 'sibling' }),
    of('a boot counter beyond six bytes', 'ends', { bootCounter: 2 ** 50 }),
    of('a short boot nonce', 'ends', { bootNonce: Buffer.alloc(3) }),
    of('a cursor beyond six bytes', 'ends', { down: { ...tuple, cursor: 2 ** 50 } }),
    of('a short hash of a piece', 'ends', { held: [{ contentHash: Buffer.alloc(3), bytes: 1 }] }),
    of('a name without end', 'ends', { software: 'x'.repeat(300) }),
    of('a transport that there is not', 'ends', { transport: 'NO SUCH '.repeat(50) }),
  ];
  return [
    { name: 'no hello', session: 'ends', frames: [beat] },
    of('a version that nobody speaks', 'ends', { versionMin: 90, versionMax: 99 }),
    of('a version of long ago', 'ends', { versionMin: 0, versionMax: 0 }),
    of('the path of another', 'ends', { path: `${hello.path}x` }),
    of('an older start', knownStart > 1 ? 'ends' : 'either', { bootCounter: 1 }),
    of('another process of the same start', 'either', { bootNonce: Buffer.alloc(16, 99) }),
    of('frames without end before the welcome', 'either', {}, ...Array.from({ length: 40 }, () => beat)),
    of('a cursor beyond everything', 'either', { down: tuple }),
    of('no cursor', 'either', { down: undefined }),
    of('more pieces than it may hold', 'either', { held }),
    of('almost no credit', 'either', { downCreditBytes: 1 }),
    of('all the credit there is', 'either', { downCreditBytes: 2 ** 50 }),
    ...(atLimits ? flawed : []),
  ];
}

/** The invalid Welcomes. The first one is honest except for `change`. */
export function welcomeLies(
  chance: Chance,
  { atLimits }: { readonly atLimits: boolean },
  change: Partial<Pick<Welcome, 'downResumes' | 'ready' | 'version'>> = {},
): Lie[] {
  const none = Buffer.alloc(0);
  const up = { epoch: none, incarnation: none, cursor: 0, seenHead: 0 };
  const welcome = {
    version: 2,
    sessionSequence: 1,
    up,
    upCreditBytes: 0,
    downResumes: false,
    ready: chance.is(0.5),
    maxFrameBytes: 0,
    software: 'liar',
    downEpoch: Buffer.alloc(16, 3),
    downIncarnation: Buffer.alloc(16, 4),
    hasReplicas: false,
    held: [],
    ...change,
  };
  const of = (name: string, session: Lie['session'], other: Partial<typeof welcome>): Lie => ({
    name,
    session,
    frames: [{ frame: { $case: 'welcome', value: { ...welcome, ...other } } }],
  });
  const retry = (afterMs: number, reason = 'busy'): Frame => ({
    frame: {
      $case: 'retry',
      value: { afterMs, reason, message: 'later', bootCounter: 2 ** 47, attachSequence: 2 ** 47 },
    },
  });
  const far = { epoch: Buffer.alloc(16, 1), incarnation: Buffer.alloc(16, 2), cursor: 2 ** 47, seenHead: 2 ** 47 };
  const flawed: Lie[] = [
    { name: 'a refusal for no reason that is known', session: 'ends', frames: [retry(100, 'because')] },
    of('a session beyond six bytes', 'ends', { sessionSequence: 2 ** 50 }),
    of('a short epoch', 'ends', { downEpoch: Buffer.alloc(3) }),
    of('a name without end', 'ends', { software: 'x'.repeat(300) }),
    ...earlyLies(welcome),
  ];
  return [
    of('a welcome', 'either', {}),
    { name: 'no welcome', session: 'ends', frames: [{ frame: { $case: 'fin', value: { stream: 1 } } }] },
    { name: 'silence', session: 'either', frames: [] },
    { name: 'a refusal', session: 'ends', frames: [retry(5_000)] },
    { name: 'a refusal for a minute', session: 'ends', frames: [retry(60_000)] },
    of('a version that nobody speaks', 'ends', { version: 99 }),
    of('a version of long ago', 'ends', { version: 0 }),
    of('a cursor beyond everything', 'either', { up: far }),
    of('almost no credit', 'either', { upCreditBytes: 1 }),
    of('siblings', 'either', { hasReplicas: true, ready: true }),
    of('readiness', 'either', { ready: true }),
    ...(atLimits ? flawed : []),
  ];
}
