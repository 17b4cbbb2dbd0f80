import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { replicasMax } from '../../../../../core/identity/replica.ts';
import { systemClock } from '../../../../../core/runtime/clock.ts';
import { systemRandom } from '../../../../../core/runtime/random.ts';
import { type Frame, Hello, Welcome } from '../../../../../core/wire/generated/mesh.ts';
import type { Dialer, Link, LinkEvents } from '../../../../../core/wire/link.ts';
import type { NodeCredentials } from '../../../../../core/wire/node-credentials.ts';
import { provingDialer } from '../../../../../core/wire/proof/child-proof.ts';
import { ProofSigner, proofFrame, proofNonceBytes } from '../../../../../core/wire/proof/seal.ts';
import { beat, LinkLog } from '../../../../support/link-log.ts';
import { TestTree } from '../../../../support/test-tree.ts';
import { wayTo } from '../../../../support/ways.ts';

const address = 'balancer.example:443';
const hello: Frame = { frame: { $case: 'hello', value: { ...Hello.decode(new Uint8Array()), path: 'eu:kid' } } };
const welcome: Frame = { frame: { $case: 'welcome', value: { ...Welcome.decode(new Uint8Array()), version: 7 } } };
const challenge = Buffer.alloc(proofNonceBytes, 9);

let tree: TestTree;
let kid: NodeCredentials;
beforeAll(async () => {
  tree = await TestTree.create();
  kid = await tree.credentials('eu:kid', 'agent');
});

/** The frames from the child, and the events with which the test plays its parent. */
let sent: Frame[];
let closes: string[];
let parent: LinkEvents;
let log: LinkLog;
const inner: Dialer = {
  async dial(events) {
    parent = events;
    const link: Link = {
      peer: { path: 'eu', role: 'relay' },
      transport: 'grpc',
      send: (frame) => sent.push(frame) > 0,
      close: (reason) => void closes.push(reason),
      queuedBytes: () => 0,
    };
    return link;
  },
};

beforeEach(() => {
  sent = [];
  closes = [];
  log = new LinkLog();
});

function dial(): Promise<Link> {
  const link = { terminatedTls: true };
  const way = wayTo({ address, parentPath: 'eu', credentials: kid, clock: systemClock, link });
  return provingDialer(inner, way, systemRandom).dial(log, 1_000);
}

const nextTurn = () => new Promise(setImmediate);

/** Up to the hello; returns the child's nonce. */
async function sendHello(replica?: number): Promise<Buffer> {
  const dialed = dial();
  await nextTurn();
  parent.onFrame(proofFrame(replica === undefined ? { challenge } : { challenge, replica }));
  (await dialed).send(hello);
  return nonceSent();
}

function nonceSent(): Buffer {
  const { frame } = sent.at(-1)!;
  if (frame?.$case !== 'proof') throw new Error('no sealed hello was sent');
  return frame.value.hello!.nonce;
}

async function answeredBy(credentials: NodeCredentials, nonce: Buffer): Promise<void> {
  const body = Welcome.encode(welcome.frame!.value as Welcome).finish();
  parent.onFrame(proofFrame({ welcome: new ProofSigner(credentials).seal('parent', body, { challenge, nonce }) }));
  await nextTurn();
}

describe("a child's link where TLS is terminated", () => {
  it('has a welcome that its parent has proven, and then all further frames', async () => {
    await answeredBy(await tree.credentials('eu', 'relay'), await sendHello());
    parent.onFrame(beat(1));
    expect(log.frames).toEqual([welcome, beat(1)]);
    expect(closes).toEqual([]);
  });

  it.each([
    ['another relay of the tree', 'us', 'relay', `${address} is the relay "us", not the relay "eu"`],
    ['an agent with the path of the parent', 'eu', 'agent', `${address} is the agent "eu", not the relay "eu"`],
  ] as const)('ends by the welcome of %s', async (_, path, role, message) => {
    await answeredBy(await tree.credentials(path, role), await sendHello());
    expect(log.frames).toEqual([]);
    expect(log.closes).toHaveLength(1);
    expect(log.closes[0]).toMatchObject({ code: 'Unauthorized', message: expect.stringContaining(message) });
    expect(closes).toHaveLength(1);
  });

  it('ends by the welcome of a parent of another tree, or of another session', async () => {
    await answeredBy(await (await TestTree.create()).credentials('eu', 'relay'), await sendHello());
    expect(log.closes[0]).toMatchObject({ code: 'Unauthorized', message: expect.stringContaining('of this tree') });
    log = new LinkLog();
    await sendHello();
    await answeredBy(await tree.credentials('eu', 'relay'), Buffer.alloc(proofNonceBytes));
    expect(log.closes[0]).toMatchObject({ code: 'Unauthorized', message: expect.stringContaining('for this session') });
  });

  it.each([
    ['a welcome', welcome],
    ['a beat', beat(1)],
  ])('ends by %s without a proof', async (_, frame) => {
    await sendHello();
    parent.onFrame(frame);
    await nextTurn();
    expect(log.frames).toEqual([]);
    expect(log.closes[0]).toMatchObject({ code: 'Unauthorized', message: expect.stringContaining('without a proof') });
  });

  it('names the replica to which it leads, by the challenge, before the hello is made', async () => {
    const dialed = dial();
    await nextTurn();
    parent.onFrame(proofFrame({ challenge, replica: 1 }));
    const link = await dialed;
    expect(link.peer).toEqual({ path: 'eu', role: 'relay', replica: 1 });
    link.send(hello);
    await answeredBy(await tree.credentials('eu~1', 'relay'), nonceSent());
    expect(log.frames).toEqual([welcome]);
  });

  it.each([
    [1, 'eu', 'replica 1 sent the challenge and replica 0 sent the welcome'],
    [0, 'eu~1', 'replica 0 sent the challenge and replica 1 sent the welcome'],
  ])('ends if the challenge was of replica %i and the welcome is of %s', async (replica, path, message) => {
    const nonce = await sendHello(replica);
    await answeredBy(await tree.credentials(path, 'relay'), nonce);
    expect(log.frames).toEqual([]);
    expect(log.closes[0]).toMatchObject({ code: 'Unauthorized', message: expect.stringContaining(message) });
  });

  it('is not made by an impossible replica', async () => {
    const dialed = dial();
    await nextTurn();
    parent.onFrame(proofFrame({ challenge, replica: replicasMax }));
    await expect(dialed).rejects.toMatchObject({ code: 'Protocol', message: expect.stringContaining('replica 8') });
  });

  it('passes on a retry, which proves nothing and grants nothing', async () => {
    await sendHello();
    const retry: Frame = {
      frame: { $case: 'retry', value: { afterMs: 5, reason: 'busy', message: '', bootCounter: 0, attachSequence: 0 } },
    };
    parent.onFrame(retry);
    expect(log.frames).toEqual([retry]);
  });

  it('uses each nonce once', async () => {
    expect((await sendHello()).equals(await sendHello())).toBe(false);
  });

  it('is not made by a parent that sends no challenge, or a short one', async () => {
    for (const frame of [beat(1), proofFrame({ challenge: Buffer.alloc(8) })]) {
      const dialed = dial();
      await nextTurn();
      parent.onFrame(frame);
      await expect(dialed).rejects.toMatchObject({
        code: 'Protocol',
        message: expect.stringContaining('sends no challenge'),
      });
    }
    expect(log.order).toEqual([]);
  });

  it('is not made if the connection ends before, with the reason of the end', async () => {
    const dialed = dial();
    await nextTurn();
    parent.onClose(new Error('cut'));
    await expect(dialed).rejects.toThrow('cut');
    expect(log.order).toEqual([]);
  });
});
