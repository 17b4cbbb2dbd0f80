import { describe, expect, it } from 'vitest';
import { frontProxySchema, isAllowedProxy, proxiedUser } from '../../../../core/authentication/front-proxy.ts';

const config = frontProxySchema.parse({ clientCA: 'file' });

describe('the user whom a front proxy names', () => {
  it('has the first name, all groups, the first uid and all extras', () => {
    const raw = [
      ...['X-Remote-User', ''],
      ...['x-remote-user', 'alice', 'X-Remote-User', 'bob'],
      ...['X-Remote-Group', 'tills', 'x-remote-group', 'desk', 'X-Remote-Group', 'tills'],
      ...['X-Remote-Uid', '7'],
      ...['X-Remote-Extra-Acme.io%2FDesk', '1', 'x-remote-extra-acme.io%2fdesk', '2', 'x-remote-extra-100%', 'x'],
    ];
    expect(proxiedUser(config, raw)).toEqual({
      name: 'alice',
      groups: ['tills', 'desk', 'system:authenticated'],
      uid: '7',
      extra: { 'acme.io/desk': ['1', '2'], '100%': ['x'] },
    });
  });

  it('has one group for each header, whatever characters the name of the group has', () => {
    const raw = ['x-remote-user', Buffer.from('žofie').toString('latin1'), 'x-remote-group', 'a, system:masters'];
    expect(proxiedUser(config, raw)).toEqual({ name: 'žofie', groups: ['a, system:masters', 'system:authenticated'] });
  });

  it('is nobody without a name', () => {
    expect(proxiedUser(config, ['x-remote-group', 'system:masters', 'x-forwarded-user', 'admin'])).toBeUndefined();
  });

  it('is read from the headers of the configuration, in their order', () => {
    const other = { ...config, usernameHeaders: ['X-Name', 'X-Remote-User'], groupHeaders: [], uidHeaders: [] };
    const raw = ['x-remote-user', 'b', 'x-name', 'a', 'x-remote-group', 'g', 'x-remote-uid', '1'];
    expect(proxiedUser(other, raw)).toEqual({ name: 'a', groups: ['system:authenticated'] });
  });
});

it('only the named certificates are of proxies, if there are names', () => {
  expect([undefined, 'x'].map((name) => isAllowedProxy(config, name))).toEqual([true, true]);
  const named = { ...config, allowedNames: ['front'] };
  expect([undefined, ['front', 'x'], 'x', 'front'].map((name) => isAllowedProxy(named, name))).toEqual([
    false,
    false,
    false,
    true,
  ]);
});

it('a configuration without a file, or with a header that can not exist, is refused', () => {
  expect(frontProxySchema.safeParse({}).success).toBe(false);
  expect(frontProxySchema.safeParse({ clientCA: 'f', usernameHeaders: [] }).success).toBe(false);
  expect(frontProxySchema.safeParse({ clientCA: 'f', groupHeaders: ['X Group'] }).success).toBe(false);
  expect(frontProxySchema.safeParse({ clientCA: 'f', nameHeaders: ['X'] }).success).toBe(false);
});
