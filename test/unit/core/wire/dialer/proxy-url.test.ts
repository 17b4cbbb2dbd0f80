import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseProxy } from '../../../../../core/wire/dialer/proxy-url.ts';

describe("a proxy's address", () => {
  it.each([
    ['http://proxy.example:3128', { secure: false, host: 'proxy.example', port: 3128 }],
    ['https://proxy.example:3129/', { secure: true, host: 'proxy.example', port: 3129 }],
    ['http://proxy.example', { secure: false, host: 'proxy.example', port: 80 }],
    ['https://proxy.example', { secure: true, host: 'proxy.example', port: 443 }],
    ['proxy.example:3128', { secure: false, host: 'proxy.example', port: 3128 }],
    ['  http://10.0.0.1:8080 ', { secure: false, host: '10.0.0.1', port: 8080 }],
    ['http://[fd00::1]:3128', { secure: false, host: 'fd00::1', port: 3128 }],
    ['[fd00::1]:3128', { secure: false, host: 'fd00::1', port: 3128 }],
  ])('%s is accepted', (text, expected) => {
    expect(parseProxy(text)).toMatchObject(expected);
    expect(parseProxy(text).authorization).toBeUndefined();
  });

  it.each([
    ['socks5://proxy.example:1080', 'its scheme is socks5; http and https are supported'],
    ['http://', 'it is no URL'],
    ['http://proxy.example:99999', 'it is no URL'],
    ['', 'it is no URL'],
    ['http://proxy.example/path', 'something follows the host and port'],
    ['http://proxy.example?x=1', 'something follows the host and port'],
    ['http://a%3Ab:secret@proxy.example', "the user's name has a colon"],
    ['http://a:%0d%0asecret@proxy.example', 'name or password has a control character'],
    ['http://a:%zzsecret@proxy.example', 'name or password is not percent-encoded UTF-8'],
  ])('%s is refused with a message, without text that may be a password', (text, message) => {
    const refused = () => parseProxy(text);
    expect(refused).toThrow(message);
    expect(refused).not.toThrow('secret');
  });

  it('has name and password decoded for the header, and shows neither', () => {
    const proxy = parseProxy('http://store%2017:p%40ss%3Aw%C3%B6rd@proxy.example:3128');
    expect(proxy.authorization).toBe(`Basic ${Buffer.from('store 17:p@ss:wörd').toString('base64')}`);
    expect(proxy.shown).toBe('http://proxy.example:3128');
  });

  it('transmits any name without a colon and any password, however they are written', () => {
    const printable = fc.string({ unit: 'grapheme' }).filter((text) => !/\p{Cc}/u.test(text));
    const name = printable.filter((text) => text !== '' && !text.includes(':'));
    fc.assert(
      fc.property(name, printable, (user, password) => {
        const url = `http://${encodeURIComponent(user)}:${encodeURIComponent(password)}@proxy.example:3128`;
        const { authorization, shown } = parseProxy(url);
        expect(Buffer.from(authorization!.slice('Basic '.length), 'base64').toString()).toBe(`${user}:${password}`);
        expect(shown).toBe('http://proxy.example:3128');
      }),
    );
  });
});
