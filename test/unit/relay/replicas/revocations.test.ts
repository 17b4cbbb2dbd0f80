/** Revocations that kubectl makes at one replica of a relay. */
import { beforeEach, describe, expect, it } from 'vitest';
import { revocationOf, revocationResource } from '../../../../core/apiserver/kinds/revocation-kind.ts';
import type { Table } from '../../../../core/feed/feed.ts';
import { text } from '../../../../core/store/bytes.ts';
import type { Reader } from '../../../../core/store/store.ts';
import { revokedAtReplicas } from '../../../../relay/children/inherited-entries.ts';
import { WholeTree } from '../../../support/whole-tree.ts';

const relays = ['', 'eu', 'eu~1', 'eu~2', 'us', 'eu:paris'];
const others = ['eu~1', 'eu~2', 'eu:paris'];
/** The limit of the design. */
const secondsMax = 5;
/** The time at which the virtual clock begins. */
const beginMs = 1_700_000_000_000;

describe('a Revocation at one replica', () => {
  let tree: WholeTree;
  const refusing = (user = 'alice', fromMs = beginMs) =>
    relays.filter((id) => tree.isRevoked.get(id)!(user, fromMs)).filter((id) => id !== 'eu');
  const revoke = (at = 'eu', atMs = beginMs + 1_000) =>
    tree.apply(at, '', revocationOf({ kind: 'users', name: 'alice', atMs }));
  const until = (what: string, expected: readonly string[]) =>
    tree.until(what, () => refusing().join() === expected.join(), secondsMax * 1_000);

  beforeEach(async () => {
    tree = await new WholeTree({ relays, agents: ['eu:paris:store'] }).start();
    await tree.run(1_500);
  });

  it('holds at the other replicas and below within seconds, and nowhere else, until it is deleted', async () => {
    revoke();
    await until('all replicas refuse the user', others);
    expect(refusing('alice', beginMs + 2_000)).toEqual([]);
    expect(refusing('bob')).toEqual([]);
    const { name } = revocationOf({ kind: 'users', name: 'alice', atMs: 0 }).metadata;
    tree.space('eu').delete({ ...revocationResource, namespace: '', name: name! });
    await until('nobody does', []);
  });

  it('holds with the latest time, when several replicas and the parent have one', async () => {
    revoke('eu~1', beginMs + 3_000);
    revoke('', beginMs + 2_000);
    revoke('eu', beginMs + 1_000);
    await tree.run(secondsMax * 1_000);
    expect([refusing('alice', beginMs + 3_000), refusing('alice', beginMs + 2_000)]).toEqual([
      ['eu~1', 'eu~2', 'eu:paris'],
      ['', 'eu~1', 'eu~2', 'us', 'eu:paris'],
    ]);
  });

  it('holds while its replica is away, after the others and the parent have started again, and at a new replica', async () => {
    revoke();
    await until('all replicas refuse the user', others);
    tree.kill('eu');
    for (const id of ['', 'eu~1']) tree.kill(id);
    tree.kill('eu~2');
    tree.empty('eu~2');
    await tree.start('', 'eu~1', 'eu~2');
    await until('the new replica refuses the user', others);
  });

  it('that is older than the second replica holds there too', async () => {
    const former = await new WholeTree({ relays: ['', 'eu'], agents: [] }).start();
    await former.run(1_500);
    former.apply('eu', '', revocationOf({ kind: 'users', name: 'alice', atMs: beginMs + 1_000 }));
    await former.run(1_500);
    for (const id of ['', 'eu']) {
      tree.kill(id);
      tree.restore(id, former.backup(id));
    }
    await tree.start('', 'eu');
    await until('all replicas refuse the user', others);
  });

  it('of nodes holds for nodes below the relay, and not for the relay itself or for nodes elsewhere', () => {
    const nodes = { eu: 1, us: 2, 'eu:paris': 3, 'europe:x': 4 };
    const report = {
      get: () => ({ content: {} }),
      content: () => ({ key: '', attributes: text(JSON.stringify({ users: { alice: 5 }, nodes })), body: text('') }),
    } as unknown as Table;
    expect(revokedAtReplicas({} as Reader, 'eu', [report])).toEqual([
      { users: { alice: 5 }, nodes: { 'eu:paris': 3 } },
    ]);
  });
});
