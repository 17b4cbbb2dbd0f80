import { describe, expect, it } from 'vitest';
import { echoEndpoint } from '../../../../core/stream/echo.ts';
import type { Endpoint } from '../../../../core/stream/router.ts';
import { resetCodes, streamWindowBytes } from '../../../../core/stream/stream.ts';
import { StreamLog, StreamTree } from '../../../support/stream-tree.ts';

const deep = 'a:b:c:d';
const chain = ['a', 'a:b', 'a:b:c', deep];

/** An endpoint that takes every stream and keeps its end. */
function taker() {
  const taken: StreamLog[] = [];
  const endpoint: Endpoint = (offer) => {
    taken.push(new StreamLog((handler) => offer.accept(handler)));
  };
  return { taken, endpoint };
}

describe('a stream through the tree', () => {
  it('reaches a node four levels down, and each direction ends separately', async () => {
    const tree = await new StreamTree(chain).attach();
    const { taken, endpoint } = taker();
    tree.register(deep, 'test', endpoint);
    const asked = tree.open('', { path: deep });
    asked.stream.write(Buffer.from('question'));
    asked.stream.end();
    await tree.run(30);
    expect(asked.events).toEqual(['accepted']);
    expect([taken[0]!.text, taken[0]!.events]).toEqual(['question', ['end']]);
    taken[0]!.stream.write(Buffer.from('answer'));
    await tree.run(10);
    taken[0]!.stream.write(Buffer.from(' and more'));
    taken[0]!.stream.end();
    await tree.run(10);
    expect([asked.text, asked.events]).toEqual(['answer and more', ['accepted', 'end', 'closed']]);
    expect(taken[0]!.events).toEqual(['end', 'closed']);
    expect(tree.openEnds()).toBe(0);
  });

  it('is served by the node itself if the node is the target', async () => {
    const tree = new StreamTree(['a']);
    tree.register('a', 'test', echoEndpoint);
    const asked = tree.open('a', { path: 'a' });
    asked.stream.write(Buffer.from('hello'));
    asked.stream.end();
    await tree.run(5);
    expect([asked.text, asked.events]).toEqual(['hello', ['accepted', 'end', 'closed']]);
    expect(tree.openEnds()).toBe(0);
  });

  it('passes on the user, the purpose, and a shorter deadline at each hop', async () => {
    const tree = await new StreamTree(chain).attach();
    const { endpoint } = taker();
    let seen: unknown;
    tree.register(deep, 'test', (offer) => {
      seen = offer.request;
      endpoint(offer);
    });
    tree.open('', {
      path: deep,
      user: 'eve',
      groups: ['system:masters', 'x'],
      header: Buffer.from('h'),
      deadlineMs: 10_000,
    });
    await tree.run(30);
    expect(seen).toEqual({
      path: deep,
      kind: 'test',
      voucher: '',
      user: 'eve',
      groups: ['system:masters', 'x'],
      header: Buffer.from('h'),
      bulk: false,
      deadlineMs: 6_561,
    });
  });

  it('goes up to the lowest common ancestor and down again if that is allowed, and no higher', async () => {
    const tree = await new StreamTree(['a', 'a:b', 'a:c', 'a:c:d'], { fromBelow: true }).attach();
    tree.register('a:c:d', 'test', echoEndpoint);
    const asked = tree.open('a:b', { path: 'a:c:d' });
    asked.stream.write(Buffer.from('across'));
    asked.stream.end();
    await tree.run(30);
    expect(asked.text).toBe('across');
    expect(tree.frames.filter(({ from }) => from === '')).toEqual([]);
    expect(tree.openEnds()).toBe(0);
  });
});

describe('a stream to a place with replicas', () => {
  const replicas = async () => {
    const tree = new StreamTree(['a', 'a~1', 'a:b']);
    for (const path of ['a', 'a~1']) await tree.dial(path);
    return tree;
  };

  it('reaches a node that is attached to the second replica', async () => {
    const tree = await replicas();
    await tree.dial('a:b', 'a~1');
    tree.register('a:b', 'test', echoEndpoint);
    const asked = tree.open('', { path: 'a:b' });
    asked.stream.write(Buffer.from('hello'));
    asked.stream.end();
    await tree.run(30);
    expect([asked.text, asked.events]).toEqual(['hello', ['accepted', 'end', 'closed']]);
    expect(tree.openEnds()).toBe(0);
  });

  it('goes to the next replica when one is silent, within the deadline', async () => {
    const tree = await replicas();
    await tree.dial('a:b', 'a~1');
    tree.register('a:b', 'test', echoEndpoint);
    tree.isSilent = (path) => path === 'a';
    const asked = tree.open('', { path: 'a:b', deadlineMs: 1_000 });
    await tree.run(600);
    expect(asked.events).toEqual(['accepted']);
  });

  it('is refused with the answer of a replica that knows the child, if the child is attached to none of them', async () => {
    const tree = await replicas();
    const asked = tree.open('', { path: 'a:b' });
    await tree.run(30);
    expect(asked.reset).toMatchObject({ code: 'Disconnected', at: 'a', message: 'the child a:b is not connected' });
    expect(tree.openEnds()).toBe(0);
  });

  it('is withdrawn from the replica that is being asked, and no other is asked then', async () => {
    const tree = await replicas();
    tree.isSilent = () => true;
    const asked = tree.open('', { path: 'a' });
    await tree.run(10);
    asked.stream.reset({ code: 'Cancelled', message: 'enough', at: '' });
    await tree.run(20);
    const opens = tree.frames.filter(({ frame }) => frame.frame?.$case === 'open');
    expect(opens.map(({ to }) => to)).toEqual(['a']);
    expect(tree.openEnds()).toBe(0);
  });
});

describe('a stream is refused', () => {
  const attached = (paths: string[], options = {}) => new StreamTree(paths, options).attach();

  it.each([
    ['to a path that is not there', 'x', 'NotFound', '', 'there is no child x'],
    ['to a path below one that is', 'a:x', 'NotFound', 'a', 'there is no child a:x'],
    ['of a kind that nobody serves', 'a:b', 'NotFound', 'a:b', 'no streams of the kind test'],
  ])('%s', async (_, path, code, at, messagePart) => {
    const tree = await attached(['a', 'a:b']);
    const asked = tree.open('', { path });
    await tree.run(20);
    expect(asked.reset).toMatchObject({ code, at, message: expect.stringContaining(messagePart) });
    expect(asked.events).toEqual([`reset ${code}`]);
    expect(tree.openEnds()).toBe(0);
  });

  it('by the hop above an unconnected child, with the time since the child left', async () => {
    const tree = await attached(['a', 'a:b', 'a:b:c']);
    tree.cut('a:b');
    await tree.run(5);
    const asked = tree.open('', { path: 'a:b:c' });
    await tree.run(20);
    expect(asked.reset).toEqual({
      code: 'Disconnected',
      at: 'a',
      message: 'the child a:b is not connected',
      sinceMs: 7_000,
    });
  });

  it('by the hop above a silent child, before the deadlines of the nodes above it', async () => {
    const tree = await attached(chain);
    tree.isSilent = (path) => path === deep;
    const asked = tree.open('', { path: deep, deadlineMs: 2_000 });
    await tree.run(1_300);
    expect(asked.closed).toBe(false);
    await tree.run(600);
    expect(asked.reset).toMatchObject({
      code: 'DeadlineExceeded',
      at: 'a:b:c',
      message: expect.stringContaining(deep),
    });
    expect(tree.openEnds()).toBe(0);
  });

  it('by a node on the way to users who have no rights there', async () => {
    const tree = await attached(['a']);
    tree.register('a', 'test', echoEndpoint);
    const asked = tree.open('', { path: 'a', user: 'mallory', groups: ['shop'] });
    await tree.run(20);
    expect(asked.reset).toMatchObject({
      code: 'Forbidden',
      at: 'a',
      message: expect.stringContaining('center:mallory'),
    });
  });

  it.each([
    ['user', { user: 'b:jo' }],
    ['group', { user: 'jo', groups: ['system:authenticated', 'b:tills'] }],
  ])('by the first node if other nodes would take its %s for one of a child', async (what, named) => {
    const tree = await attached(['a', 'a:b', 'a:c'], { fromBelow: true });
    for (const path of ['a', 'a:c']) tree.register(path, 'test', echoEndpoint);
    const further = tree.open('a', { path: 'a:c', ...named });
    const here = tree.open('a', { path: 'a', ...named });
    const others = tree.open('a', { path: 'a:c', groups: ['system:authenticated', 'system:masters', 'corp:tills'] });
    await tree.run(20);
    expect(further.reset).toMatchObject({
      code: 'Forbidden',
      at: 'a',
      message: expect.stringMatching(new RegExp(`for a ${what} of node a:b: give such names another prefix`)),
    });
    expect([here.events, others.events]).toEqual([['accepted'], ['accepted']]);
  });

  it('when a child asks through its parent, whatever user it names', async () => {
    const tree = await attached(['a', 'b']);
    tree.register('a', 'test', echoEndpoint);
    const asked = tree.open('b', { path: 'a' });
    await tree.run(20);
    expect(asked.reset).toMatchObject({
      code: 'Forbidden',
      at: '',
      message: expect.stringContaining('streams.fromBelow'),
    });
    expect(tree.openEnds()).toBe(0);
  });

  it('when it would go back where it came from', async () => {
    const tree = await attached(['a', 'a:b'], { fromBelow: true });
    const nodes = tree.nodes.get('a')!;
    const asked = new StreamLog((handler) =>
      nodes.parent!.open(
        {
          path: 'a:b',
          kind: 'test',
          voucher: 'a',
          user: 'x',
          groups: ['system:masters'],
          header: new Uint8Array(0),
          deadlineMs: 100,
          bulk: false,
        },
        handler,
      ),
    );
    await tree.run(20);
    expect(asked.reset).toMatchObject({ code: 'NotFound', at: '' });
  });

  it('when too little of the deadline is left to continue', async () => {
    const tree = await attached(['a']);
    const asked = tree.open('', { path: 'a', deadlineMs: 15 });
    await tree.run(5);
    expect(asked.reset).toMatchObject({ code: 'DeadlineExceeded', at: '' });
  });
});

describe('a stream that is under way', () => {
  it('is reset at both ends with the code when a line in the middle breaks, and leaves nothing behind', async () => {
    const tree = await new StreamTree(chain).attach();
    const { taken, endpoint } = taker();
    tree.register(deep, 'test', endpoint);
    const asked = tree.open('', { path: deep });
    await tree.run(30);
    tree.cut('a:b');
    await tree.run(30);
    expect(asked.reset).toMatchObject({ code: 'Unavailable', at: 'a' });
    expect(taken[0]!.reset).toMatchObject({ code: 'Unavailable', at: 'a:b' });
    expect(tree.openEnds()).toBe(0);
  });

  it.each(Object.keys(resetCodes))(
    'passes a reset with %s to the other end, with its message and origin',
    async (code) => {
      const tree = await new StreamTree(chain).attach();
      const { taken, endpoint } = taker();
      tree.register(deep, 'test', endpoint);
      const asked = tree.open('', { path: deep });
      await tree.run(30);
      const reset = { code: code as keyof typeof resetCodes, message: 'so it is', at: deep };
      taken[0]!.stream.reset(reset);
      await tree.run(30);
      expect([asked.reset, taken[0]!.reset]).toEqual([reset, reset]);
      expect(tree.openEnds()).toBe(0);
    },
  );

  it('is withdrawn before it was taken: no node further down continues it', async () => {
    const tree = await new StreamTree(chain).attach();
    let gone: unknown;
    tree.register(deep, 'test', (offer) => offer.onGone((reset) => (gone = reset)));
    const asked = tree.open('', { path: deep });
    await tree.run(30);
    expect(tree.openEnds()).toBe(10);
    asked.stream.reset({ code: 'Cancelled', message: 'never mind', at: '' });
    await tree.run(30);
    expect(gone).toMatchObject({ code: 'Cancelled', message: 'never mind' });
    expect(tree.openEnds()).toBe(0);
  });

  it('that nobody reads holds a window at each hop and no more, and stalls no other stream', async () => {
    const tree = await new StreamTree(chain).attach();
    const { taken, endpoint } = taker();
    tree.register(deep, 'stalls', endpoint);
    tree.register(deep, 'test', echoEndpoint);
    const stalled = tree.open('', { path: deep, kind: 'stalls' });
    await tree.run(30);
    taken[0]!.stalled = true;
    stalled.stream.write(Buffer.alloc(64 * streamWindowBytes));
    await tree.run(300);
    const busy = tree.open('', { path: deep });
    busy.stream.write(Buffer.alloc(4 * streamWindowBytes, 1));
    busy.stream.end();
    await tree.run(300);
    expect(busy.receivedBytes).toBe(4 * streamWindowBytes);
    expect(busy.closed).toBe(true);
    expect(taken[0]!.receivedBytes).toBe(streamWindowBytes);
    // The hops, and the two ends inside the asking node.
    expect(stalled.writtenBytes).toBeLessThanOrEqual((chain.length + 1) * streamWindowBytes);
    taken[0]!.stalled = false;
    taken[0]!.stream.consumed(streamWindowBytes);
    await tree.run(2_000);
    expect(taken[0]!.receivedBytes).toBe(64 * streamWindowBytes);
  });
});
