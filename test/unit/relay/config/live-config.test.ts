import { expect, it } from 'vitest';
import { nodeConfigSchema } from '../../../../relay/config/config.ts';
import { liveConfig } from '../../../../relay/config/live-config.ts';

const config = (more: object = {}) =>
  nodeConfigSchema.parse({ path: '', data: 'data', pki: { tree: 'retail' }, api: {}, mesh: {}, ...more });

it('is the inventory, the relays, the children and the spaces of the changed configuration', () => {
  const more = {
    inventory: [{ name: 'rivoli' }],
    relays: ['eu'],
    children: { claims: { labels: { env: ['prod'] } } },
    spaces: [{ name: 'shop', type: 'Workload' }],
  };
  const { inventory, relays, children, spaces } = config(more);
  expect(liveConfig(config(), config(more))).toEqual({ inventory, relays, children, spaces });
});

it('is refused as a whole if another part differs, with the names of these parts', () => {
  const changed = config({ relays: ['eu'], labels: { env: 'prod' }, logLevel: 'debug' });
  expect(() => liveConfig(config(), changed)).toThrow(/^logLevel, labels: .*restart the node$/);
});
