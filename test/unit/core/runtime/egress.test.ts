import { describe, expect, it } from 'vitest';
import { Egress, egressSchema } from '../../../../core/runtime/egress.ts';

const egress = (options: object = {}) => new Egress(egressSchema.parse(options));

describe('egress by default', () => {
  it.each([
    ['127.0.0.1', 'loopback'],
    ['127.255.0.9', 'loopback'],
    ['::1', 'loopback'],
    ['::ffff:127.0.0.1', 'loopback'],
    ['64:ff9b::127.0.0.1', 'loopback'],
    ['0.0.0.0', 'unspecified'],
    ['::', 'unspecified'],
    ['169.254.169.254', 'link-local'],
    ['::ffff:169.254.169.254', 'link-local'],
    ['64:ff9b::a9fe:a9fe', 'link-local'],
    ['fe80::1', 'link-local'],
    ['fd00:ec2::254', 'metadata'],
    ['100.100.100.200', 'metadata'],
    ['168.63.129.16', 'metadata'],
    ['224.0.0.1', 'multicast or broadcast'],
    ['255.255.255.255', 'multicast or broadcast'],
    ['ff02::1', 'multicast or broadcast'],
  ])('refuses %s', (address, kind) => {
    expect(egress().reasonAgainst(address)).toBe(
      `the node does not call ${address}, a ${kind} address: add the address to egress.allow of the node, or use another one`,
    );
  });

  it.each([
    '10.1.2.3',
    '192.168.0.1',
    '8.8.8.8',
    '128.0.0.1',
    '169.253.0.1',
    'fd00::1',
    '2001:db8::1',
    '64:ff9b::808:808',
  ])('allows %s', (address) => {
    expect(egress().reasonAgainst(address)).toBeUndefined();
  });
});

describe('egress', () => {
  it('allows the named addresses, and no others', () => {
    const one = egress({ allow: ['127.0.0.1', '169.254.7.0/24'] });
    expect(one.reasonAgainst('127.0.0.1')).toBeUndefined();
    expect(one.reasonAgainst('::ffff:127.0.0.1')).toBeUndefined();
    expect(one.reasonAgainst('127.0.0.2')).toContain('loopback');
    expect(one.reasonAgainst('169.254.7.9')).toBeUndefined();
    expect(one.reasonAgainst('169.254.8.9')).toContain('link-local');
  });

  it('refuses further addresses, also those that are allowed', () => {
    const one = egress({ allow: ['127.0.0.0/8'], refuse: ['10.0.0.0/8', '127.0.0.2'] });
    expect(one.reasonAgainst('10.9.9.9')).toBe(
      'the node does not call 10.9.9.9: egress.refuse of the node names the address',
    );
    expect(one.reasonAgainst('127.0.0.2')).toContain('egress.refuse');
    expect(one.reasonAgainst('127.0.0.1')).toBeUndefined();
  });

  it.each(['localhost', '10.0.0.0/33', '10.0.0.0/x', '10.0.0/8', '::/129', '10.0.0.0/8/8', ''])(
    'does not take %s for a network',
    (text) => {
      const { error } = egressSchema.safeParse({ allow: [text] });
      expect(error?.issues[0]?.message).toBe(
        `must be an IP address or a network such as 10.0.0.0/8, and is ${JSON.stringify(text)}`,
      );
    },
  );

  it('checks the addresses of a name, and connects to no other ones', async () => {
    const ask = (one: Egress, all: boolean) =>
      new Promise<unknown>((resolve) => {
        one.lookup('localhost', { all }, (error, address) => resolve(error?.message ?? address));
      });
    expect(await ask(egress(), true)).toMatch(/^localhost: the node does not call (127.0.0.1|::1), a loopback address/);
    expect(await ask(egress({ allow: ['127.0.0.1'] }), true)).toEqual([{ address: '127.0.0.1', family: 4 }]);
    expect(await ask(egress({ allow: ['127.0.0.1'] }), false)).toBe('127.0.0.1');
  });
});
