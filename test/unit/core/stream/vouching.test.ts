import { describe, expect, it } from 'vitest';
import { streamRules } from '../../../../core/stream/rules.ts';
import type { StreamRequest } from '../../../../core/stream/stream.ts';
import { vouchedUser, wrongVoucher } from '../../../../core/stream/vouching.ts';

const alice = { user: 'alice', groups: ['tills', 'system:authenticated'] };

describe('a user for whom another node vouches', () => {
  it('has the own name only at the node that vouches', () => {
    expect(vouchedUser({ voucher: 'eu', ...alice }, 'eu')).toEqual({ name: 'alice', groups: alice.groups });
  });

  it('has the path of this node before the name and before each group', () => {
    expect(vouchedUser({ voucher: '', ...alice }, 'eu:paris')).toEqual({
      name: 'center:alice',
      groups: ['center:tills', 'system:authenticated', 'banyan:from-above'],
    });
    expect(vouchedUser({ voucher: 'eu:paris', ...alice }, 'eu')).toEqual({
      name: 'eu:paris:alice',
      groups: ['eu:paris:tills', 'system:authenticated'],
    });
  });

  it('is never privileged, whatever group the other node names', () => {
    const { groups } = vouchedUser({ voucher: 'eu', user: 'root', groups: ['system:masters'] }, '');
    expect(groups).not.toContain('system:masters');
  });
});

describe('a voucher', () => {
  it('from a child is the child or below', () => {
    expect(wrongVoucher('eu:paris:shop', '', 'eu')).toBeUndefined();
    expect(wrongVoucher('eu', '', 'eu')).toBeUndefined();
    expect(wrongVoucher('eu-west', '', 'eu')).toBe("eu can't vouch for users of eu-west, which is not below it");
    expect(wrongVoucher('', '', 'eu')).toBe("eu can't vouch for users of center, which is not below it");
  });

  it('from the parent is neither this node nor below', () => {
    for (const voucher of ['', 'eu', 'us', 'eu:berlin']) expect(wrongVoucher(voucher, 'eu:paris')).toBeUndefined();
    for (const voucher of ['eu:paris', 'eu:paris:shop'])
      expect(wrongVoucher(voucher, 'eu:paris')).toMatch(/^the parent can't vouch for users of eu:paris/);
  });

  it('makes no name of Kubernetes', () => {
    for (const voucher of ['system', 'system:eu']) expect(wrongVoucher(voucher, 'us')).toMatch(/names that begin with/);
  });
});

describe('the rules for streams', () => {
  const request = (voucher: string, kind = 'api'): StreamRequest => ({
    ...{ path: 'eu:paris', kind, voucher, header: new Uint8Array(0), deadlineMs: 1_000, bulk: false },
    ...alice,
  });
  const asked: string[] = [];
  const rules = streamRules({
    path: 'eu',
    fromBelow: true,
    authorizedAbove: ['fleet'],
    refusal: ({ name }) => {
      asked.push(name);
      return name.endsWith(':alice') ? undefined : 'no rights';
    },
  });

  it('ask about the user under the name that this node knows', () => {
    expect(rules(request(''), 'above')).toBeUndefined();
    expect(rules(request('eu:paris'), 'below', 'paris')).toBeUndefined();
    expect(asked).toEqual(['center:alice', 'eu:paris:alice']);
    expect(rules({ ...request(''), user: 'bob' }, 'above')).toBe('no rights');
  });

  it('do not ask about streams that begin here, or about which the node above has decided', () => {
    asked.length = 0;
    expect(rules(request('eu'), 'here')).toBeUndefined();
    expect(rules(request('', 'fleet'), 'above')).toBeUndefined();
    expect(asked).toEqual([]);
  });

  it('refuse a forged voucher, also for kinds about which the node above has decided', () => {
    expect(rules(request('eu', 'fleet'), 'above')).toMatch(/can't vouch/);
    expect(rules(request('us'), 'below', 'paris')).toMatch(/can't vouch/);
  });
});
