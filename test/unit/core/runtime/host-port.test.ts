import { expect, it } from 'vitest';
import { hostPort } from '../../../../core/runtime/host-port.ts';

it('puts an address of IPv6 in brackets, and nothing else', () => {
  const urls = ['::1', 'fd00::1', '127.0.0.1', 'relay.example'].map(
    (host) => new URL(`https://${hostPort(host, 8443)}`),
  );
  expect(urls.map(({ hostname, port }) => `${hostname} ${port}`)).toEqual([
    '[::1] 8443',
    '[fd00::1] 8443',
    '127.0.0.1 8443',
    'relay.example 8443',
  ]);
});
