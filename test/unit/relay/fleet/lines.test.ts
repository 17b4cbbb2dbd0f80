/** Lines of answers: as bytes, on a stream between two nodes, and as lists and warnings of Kubernetes. */
import { describe, expect, it } from 'vitest';
import { BanyanError } from '../../../../core/runtime/errors.ts';
import { warningsOf } from '../../../../relay/fleet/away.ts';
import { decodeLine, encodeLine, type FleetLine, stamped } from '../../../../relay/fleet/fleet-lines.ts';
import type { ListQuestion } from '../../../../relay/fleet/fleet-question.ts';
import { readLines, writeLines } from '../../../../relay/fleet/line-streams.ts';
import { listAnswer } from '../../../../relay/fleet/list-answer.ts';
import { Slots } from '../../../../relay/fleet/slots.ts';
import { requestOf, StreamTree } from '../../../support/stream-tree.ts';

function item(name: string, bytes = 0): FleetLine & { type: 'item' } {
  const payload = Buffer.from(JSON.stringify({ metadata: { name }, data: { x: 'y'.repeat(bytes), tab: '\t\n' } }));
  return { type: 'item', item: { path: 'eu:s1', namespace: 'shop', name, revision: 7, payload, stampAt: 13 } };
}

const begin: FleetLine = { type: 'begin', position: '17' };
const end: FleetLine = { type: 'end', more: false };
const away: FleetLine = {
  type: 'away',
  away: { path: 'us', why: 'it is not connected', silentMs: 60_000, destinations: 3 },
};

async function* linesOf(...lines: FleetLine[]): AsyncGenerator<FleetLine> {
  yield* lines;
}

describe('a line', () => {
  it.each([
    begin,
    end,
    away,
    item('till'),
    { ...item('till'), type: 'event', event: 'ADDED', position: '18' } as FleetLine,
  ])('is the same after it was bytes: %j', (line) => {
    const bytes = encodeLine(line);
    expect(bytes.indexOf('\n')).toBe(bytes.length - 1);
    expect(decodeLine(bytes.subarray(0, -1))).toEqual(line);
  });

  it('gets the resourceVersion into its metadata', () => {
    const text = Buffer.concat(stamped(item('till').item, '42')).toString();
    expect(JSON.parse(text)).toMatchObject({ metadata: { resourceVersion: '42', name: 'till' } });
  });

  it('that is none is an error of the peer', () => {
    expect(() => decodeLine(Buffer.from('{"type":'))).toThrow(/invalid line/);
    expect(decodeLine(Buffer.from('{"type":"error","code":"Nonsense","message":"m"}'))).toMatchObject({
      code: 'Internal',
    });
  });
});

describe('lines on a stream', () => {
  async function pair(answer: (signal: AbortSignal) => AsyncIterable<FleetLine>, quietMs = 5_000) {
    const tree = await new StreamTree(['eu']).attach();
    const written: Promise<void>[] = [];
    tree.register('eu', 'fleet', (offer) => void written.push(writeLines(offer, 'eu', answer)));
    const gone = new AbortController();
    const { router } = tree.nodes.get('')!;
    const open = (handler: Parameters<Parameters<typeof readLines>[0]>[0]) =>
      router.open(requestOf({ path: 'eu', kind: 'fleet' }), handler);
    const lines = readLines(open, { at: '', clock: tree.clock, quietMs, signal: gone.signal });
    return { tree, lines, gone, written };
  }

  async function all(lines: AsyncIterable<FleetLine>): Promise<FleetLine[]> {
    const found: FleetLine[] = [];
    for await (const line of lines) found.push(line);
    return found;
  }

  it('arrive as they were written, however large', async () => {
    const sent = [begin, item('a', 700_000), item('b', 10), item('c', 300_000), end];
    const { tree, lines } = await pair(() => linesOf(...sent));
    const received = all(lines);
    await tree.run(2_000);
    expect((await received).map((line) => encodeLine(line).toString('base64'))).toEqual(
      sent.map((line) => encodeLine(line).toString('base64')),
    );
  });

  it('end with the error of the answer', async () => {
    const { tree, lines } = await pair(() => {
      throw new BanyanError('Expired', 'too old');
    });
    const received = all(lines).catch((error: unknown) => error);
    await tree.run(1_000);
    expect(await received).toMatchObject({ code: 'Expired', message: 'too old' });
  });

  it('wait for a reader that does not read: the writer makes only what the window takes', async () => {
    let made = 0;
    const { tree, lines, gone } = await pair(async function* () {
      for (; made < 1_000; made++) yield item(`n${made}`, 10_000);
    });
    const { value } = await Promise.race([lines.next(), tree.run(3_000).then(() => ({ value: undefined }))]);
    await tree.run(3_000);
    expect(value ?? begin).toBeDefined();
    expect(made).toBeGreaterThan(5);
    expect(made).toBeLessThan(100);
    gone.abort();
    await tree.run(1_000);
    expect(tree.openEnds()).toBe(0);
  });

  it('end with a time-out if the writer is silent', async () => {
    const { tree, lines } = await pair(async function* (signal) {
      yield begin;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    });
    const received = all(lines).catch((error: unknown) => error);
    await tree.run(6_000);
    expect(await received).toMatchObject({ code: 'Timeout' });
    expect(tree.openEnds()).toBe(0);
  });

  it('tell the writer when the reader has gone', async () => {
    let isGone = false;
    const { tree, lines, gone } = await pair(async function* (signal) {
      yield begin;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      isGone = true;
    });
    const received = all(lines).catch((error: unknown) => error);
    await tree.run(100);
    gone.abort();
    await tree.run(1_000);
    await received;
    expect(isGone).toBe(true);
  });
});

describe('the answer to a list', () => {
  const question: ListQuestion = {
    type: 'list',
    source: 'center.retail',
    kind: { group: '', resource: 'configmaps', version: 'v1', columns: [], selectable: [] },
    namespace: '',
    labelSelector: '',
    fieldSelector: '',
    form: { as: 'object', version: 'v1', includeObject: 'Metadata' },
    patienceMs: 1_000,
    limit: 0,
  };
  const answer = (lines: AsyncIterable<FleetLine>, more: Partial<ListQuestion> = {}, brokenOff = (_: unknown) => {}) =>
    listAnswer(lines, { question: { ...question, ...more }, listKind: 'ConfigMapList', away: [], brokenOff });

  it('is complete, with its warnings, if it is small', async () => {
    const made = await answer(linesOf(begin, item('a'), away, item('b'), { type: 'end', more: true, remaining: 5 }));
    expect(made.headers).toEqual({
      warning: ['299 - "us is missing here with 3 clusters: it is not connected, for 60s"'],
    });
    const body = JSON.parse(('body' in made ? made.body : Buffer.alloc(0)).toString()) as Record<string, unknown>;
    expect(body).toMatchObject({
      kind: 'ConfigMapList',
      apiVersion: 'v1',
      items: [{ metadata: { name: 'a', resourceVersion: '7' } }, { metadata: { name: 'b' } }],
      metadata: { resourceVersion: '17', continue: expect.any(String), remainingItemCount: 5 },
    });
  });

  it('does not count the rest if a selector is given, as the Kubernetes API server', async () => {
    const lines = linesOf(begin, item('a'), { type: 'end', more: true, remaining: 5 });
    const made = await answer(lines, { labelSelector: 'a=b' });
    expect(JSON.parse(('body' in made ? made.body : '').toString()).metadata.remainingItemCount).toBeUndefined();
  });

  it('is sent while it is made if it is large, and is broken off if a place goes away meanwhile', async () => {
    const large = Array.from({ length: 5 }, (_, i) => item(`n${i}`, 600_000));
    const whole = await answer(linesOf(begin, ...large, end));
    const pieces: Uint8Array[] = [];
    if ('pieces' in whole) for await (const piece of whole.pieces) pieces.push(piece);
    expect(JSON.parse(Buffer.concat(pieces).toString()).items).toHaveLength(5);

    const places: unknown[] = [];
    const broken = await answer(linesOf(begin, ...large, away, end), {}, (place) => places.push(place));
    const read = async () => {
      if ('pieces' in broken) for await (const _ of broken.pieces);
    };
    await expect(read()).rejects.toMatchObject({
      code: 'Unavailable',
      message: expect.stringContaining('us is missing'),
    });
    expect(places).toEqual([expect.objectContaining({ path: 'us' })]);
  });
});

describe('warnings', () => {
  it('name the places, and count what has no room', () => {
    const many = Array.from({ length: 12 }, (_, i) => ({ path: `r${i}`, why: 'it is not connected', destinations: 2 }));
    const warnings = warningsOf(many, []);
    expect(warnings).toHaveLength(11);
    expect(warnings.at(-1)).toBe('2 more places with 4 clusters are missing here, too');
  });

  it('name a place once, and clusters that are not connected', () => {
    const stales = Array.from({ length: 5 }, (_, i) => ({ path: `s${i}`, silentMs: 60_000 }));
    const one = { path: 'us', why: 'no answer within 8 s', destinations: 1 };
    expect(warningsOf([one, one], stales)).toEqual([
      'us is missing here with 1 cluster: no answer within 8 s',
      'not connected, shown as last reported: s0 (for 60s), s1 (for 60s), s2 (for 60s) and 2 more',
    ]);
  });
});

describe('slots', () => {
  it('bound the answers at once, and are free again when an answer ends or is given up', async () => {
    const slots = new Slots('lists', 1);
    const first = slots.use(() => linesOf(begin, end));
    await first.next();
    await expect(slots.use(() => linesOf(begin)).next()).rejects.toMatchObject({ code: 'TooManyRequests' });
    await first.return(undefined);
    const { value } = await slots.use(() => linesOf(begin)).next();
    expect(value).toEqual(begin);
  });
});
