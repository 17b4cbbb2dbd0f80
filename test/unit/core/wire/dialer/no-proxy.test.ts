import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseNoProxy } from '../../../../../core/wire/dialer/no-proxy.ts';

describe('the list of hosts without a proxy', () => {
  it.each([
    ['eu.example', 'eu.example', true],
    ['eu.example', 'EU.Example.', true],
    ['eu.example', 'relay.eu.example', true],
    ['eu.example', 'neu.example', false],
    ['.example', 'eu.example', true],
    ['.example', 'a.b.example', true],
    ['.example', 'example', false],
    ['*.example', 'eu.example', true],
    ['*.example', 'example', false],
    ['*', 'whatever', true],
    ['a, *', '10.0.0.1', true],
    ['eu.example:7443', 'eu.example', true],
    ['eu.example:443', 'eu.example', false],
    ['.example:443', 'eu.example', false],
    ['10.1.2.3', '10.1.2.3', true],
    ['10.1.2.3:7443', '10.1.2.3', true],
    ['10.1.2.3:80', '10.1.2.3', false],
    ['10.1.0.0/16', '10.1.200.3', true],
    ['10.1.0.0/16', '10.2.0.1', false],
    ['10.1.0.0/16', 'relay.10.1.0.0', false],
    ['fd00::/8', 'fd12::1', true],
    ['fd00::/8', '[fd12::1]', true],
    ['fd00::1', 'fd00:0:0::1', true],
    ['[fd00::1]:7443', 'fd00::1', true],
    ['[fd00::1]:80', 'fd00::1', false],
    ['10.1.2.3', '::ffff:10.1.2.3', true],
    ['other.example eu.example', 'eu.example', true],
    ['other.example,eu.example', 'eu.example', true],
    ['', 'eu.example', false],
    [',', 'eu.example', false],
    ['other.example,', 'eu.example', false],
    [' , ,', 'eu.example', false],
    ['.', 'eu.example', false],
    ['10.1.0.0/99', '10.1.0.1', false],
    ['nonsense/8', 'nonsense', false],
  ])('%j with %s on port 7443: %s', (list, host, expected) => {
    expect(parseNoProxy(list)(host, 7443)).toBe(expected);
  });

  it('matches everything that any of its elements matches, in any order and with any separators', () => {
    const element = fc.constantFrom('a.example', '.b.example', 'c.example:7443', '10.0.0.0/8', 'fd00::1', '', ' ');
    const host = fc.constantFrom(
      'a.example',
      'x.b.example',
      'c.example',
      'b.example',
      '10.1.1.1',
      '11.1.1.1',
      'fd00::1',
    );
    fc.assert(
      fc.property(fc.array(element), fc.constantFrom(',', ' ', ', ', ',,'), host, (elements, between, name) => {
        const alone = elements.some((one) => parseNoProxy(one)(name, 7443));
        expect(parseNoProxy(elements.join(between))(name, 7443)).toBe(alone);
        expect(parseNoProxy([...elements].reverse().join(between))(name, 7443)).toBe(alone);
      }),
    );
  });
});
