import { describe, expect, it } from 'vitest';
import { chooseProxy, proxiesOf } from '../../../../../core/wire/dialer/proxy-choice.ts';

describe('the variables of the environment', () => {
  it.each([
    [{}, {}],
    [{ HTTPS_PROXY: 'http://a' }, { proxy: 'http://a' }],
    [{ https_proxy: 'http://b', HTTPS_PROXY: 'http://a' }, { proxy: 'http://b' }],
    [{ ALL_PROXY: 'http://c' }, { proxy: 'http://c' }],
    [{ all_proxy: 'http://d', HTTPS_PROXY: 'http://a' }, { proxy: 'http://a' }],
    [{ HTTP_PROXY: 'http://e', http_proxy: 'http://e' }, {}],
    [{ https_proxy: ' ', HTTPS_PROXY: 'http://a' }, { proxy: 'http://a' }],
    [{ NO_PROXY: 'x' }, { noProxy: 'x' }],
    [{ no_proxy: 'y', NO_PROXY: 'x' }, { noProxy: 'y' }],
  ])('%j mean %j', (environment, expected) => {
    expect(proxiesOf(environment)).toEqual(expected);
  });
});

describe('the proxy of a parent', () => {
  const target = { host: 'eu.example', port: 7443 };
  const environment = { proxy: 'http://environment:3128', noProxy: 'other.example' };

  it('is the configured one, whatever the environment names', () => {
    const noProxy = { ...environment, noProxy: '*' };
    expect(chooseProxy(target, 'http://configured:3128', noProxy)?.host).toBe('configured');
    expect(chooseProxy({ ...target, host: '127.0.0.1' }, 'http://configured:3128', noProxy)?.host).toBe('configured');
  });

  it('is none if the configuration says so', () => {
    expect(chooseProxy(target, 'none', environment)).toBeUndefined();
  });

  it('is otherwise that of the environment, except for its excepted hosts', () => {
    expect(chooseProxy(target, undefined, environment)?.host).toBe('environment');
    expect(chooseProxy({ ...target, host: 'other.example' }, undefined, environment)).toBeUndefined();
    expect(chooseProxy(target, undefined, {})).toBeUndefined();
    expect(chooseProxy(target, undefined, { noProxy: 'x' })).toBeUndefined();
  });

  it.each(['localhost', 'LocalHost.', 'a.localhost', '127.0.0.1', '127.8.9.1', '::1'])(
    'is never that of the environment for %s, which is this machine',
    (host) => {
      expect(chooseProxy({ ...target, host }, undefined, environment)).toBeUndefined();
    },
  );

  it('is refused if it is malformed, from either source', () => {
    expect(() => chooseProxy(target, undefined, { proxy: 'socks5://x' })).toThrow('its scheme is socks5');
    expect(() => chooseProxy(target, 'ftp://x', {})).toThrow('its scheme is ftp');
  });
});
