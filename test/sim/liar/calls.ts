/** Lies on the call of a stream: frames in wrong orders, more data than credit, other ids. */
import type { Frame } from '../../../core/wire/generated/mesh.ts';
import type { LinkEvents } from '../../../core/wire/link.ts';
import type { Chance } from '../plan/chance.ts';
import type { End } from '../sim-network.ts';

const open = (stream: number, creditBytes = 1_000): Frame => ({
  frame: {
    $case: 'open',
    value: {
      stream,
      path: '',
      kind: 'echo',
      deadlineMs: 5_000,
      header: Buffer.alloc(0),
      voucher: '',
      user: 'liar',
      groups: ['system:masters'],
      bulk: false,
      creditBytes,
    },
  },
});
const data = (stream: number, bytes: number): Frame => ({
  frame: { $case: 'data', value: { stream, data: Buffer.alloc(bytes, 1) } },
});
const line = (stream: number, text: string): Frame => ({
  frame: { $case: 'data', value: { stream, data: Buffer.from(`${text}\n`) } },
});
const credit = (stream: number, bytes: number): Frame => ({
  frame: { $case: 'credit', value: { stream, feed: 0, bytes } },
});
const fin = (stream: number): Frame => ({ frame: { $case: 'fin', value: { stream } } });
const beat: Frame = { frame: { $case: 'census', value: { streams: [] } } };

/** Frames that follow the first frame of a call. */
const tails: readonly ((id: number) => Frame[])[] = [
  (id) => [data(id, 100)],
  (id) => [data(id, 0)],
  (id) => [data(id, 3_000_000)],
  (id) => [credit(id, 0)],
  (id) => [credit(id, 2 ** 40)],
  (id) => [credit(id, 100), data(id, 10), fin(id), fin(id)],
  (id) => [credit(id, 100), fin(id), data(id, 10)],
  (id) => [credit(id, 100), credit(id + 2, 100)],
  (id) => [credit(id, 100), data(id, 0)],
  // More data than a line may have, and a frame without content.
  (id) => [credit(id, 100), data(id, 100_000), fin(id)],
  (id) => [credit(id, 100), line(id, 'nonsense'), fin(id)],
  (id) => [
    credit(id, 100),
    line(id, '{"path":"elsewhere","role":"agent","version":"1","ready":7,"notReady":"so"}'),
    fin(id),
  ],
  (id) => [fin(id)],
  () => [beat],
  (id) => [open(id), open(id)],
  (id) => [{ frame: { $case: 'reset', value: { stream: id, code: 77, message: 'x', at: '', sinceMs: 0 } } }],
  () => [],
];

type LyingCall = (link: End, chance: Chance, id?: number) => void;

const answers: LyingCall = (link, chance, id) => {
  if (id !== undefined) for (const frame of chance.of(tails)(id)) link.send(frame);
};

const calls: LyingCall = (link, chance, asked) => {
  if (asked !== undefined || !link.openStream) return;
  const deaf: LinkEvents = { onFrame() {}, onBytes() {}, onDrain() {}, onClose() {} };
  const id = chance.of([1, 3, 5, 2, 4]);
  const frames = chance.is(0.8) ? [open(id), ...chance.of(tails)(id)] : chance.of(tails)(id);
  link.openStream(id, false, deaf).then(
    (call) => {
      for (const frame of frames) call.send(frame);
    },
    () => {},
  );
};

/** The lies on a call that the child opens because of an Open, and on a call that the child opens by itself. */
export const lyingCalls: readonly LyingCall[] = [answers, calls];
