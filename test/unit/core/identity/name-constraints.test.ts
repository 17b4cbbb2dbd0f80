import { describe, expect, it } from 'vitest';
import { nameConstraints, notPermittedHosts } from '../../../../core/identity/name-constraints.ts';

const hex = (hosts: readonly string[]) => Buffer.from(nameConstraints(hosts)).toString('hex');
/** `OU=below-banyan-issuer`, as the name of a directory. */
const unit = '3022a420301e311c301a060355040b0c1362656c6f772d62616e79616e2d697373756572';

describe('name constraints', () => {
  it('permit each host alone, and exclude nothing if both kinds of names have a permitted one', () => {
    const address = 'ff'.repeat(16);
    expect(hex(['a.example', '10.0.0.1', '::1'])).toBe(
      `3063a061${unit}300b8209612e6578616d706c65300a87080a000001ffffffff30228720${'0'.repeat(31)}1${address}`,
    );
  });

  it('exclude all names of a kind without a permitted one: otherwise all of them would be permitted', () => {
    expect(hex([])).toBe(`305ca024${unit}a13430028200300a8708${'00'.repeat(8)}30228720${'00'.repeat(32)}`);
  });

  it('name the hosts that they do not permit', () => {
    const constraints = nameConstraints(['a.example', '10.0.0.1', '2001:db8::1']);
    expect(notPermittedHosts(constraints, ['a.example', 'x.a.example', '10.0.0.1', '2001:DB8:0:0:0:0:0:1'])).toEqual(
      [],
    );
    const others = ['xa.example', 'example', '10.0.0.2', '2001:db8::2', '::ffff:10.0.0.1'];
    expect(notPermittedHosts(constraints, others)).toEqual(others);
    expect(notPermittedHosts(nameConstraints([]), ['a.example', '0.0.0.0', '::'])).toHaveLength(3);
    expect(notPermittedHosts(nameConstraints('any'), ['a.example', '0.0.0.0', '::'])).toEqual([]);
  });
});
