/** Canaries that remove rules of releases. */
import { Exposures } from '../../../relay/rollout/exposure.ts';
import { isIn } from '../check/rows.ts';
import type { StoreFaults } from '../disk.ts';
import type { Canaries } from './canary.ts';

export const rolloutCanaries: Canaries = {
  'release-for-everybody': {
    break() {
      // Every agent gets the present object of the source, whether or not the release was handed out to it.
      Exposures.prototype.outgoing = (_t, _shipment, what) => what;
    },
  },
  'wave-unchecked': { break() {}, storeFaults: () => readsReleases({ wave: 20 }) },
  'abort-ignored': { break() {}, storeFaults: () => readsReleases({ halted: false }) },
};

/** The store returns each release row with other attributes. */
function readsReleases(other: object): StoreFaults {
  return {
    get(key, found) {
      if (!found || !isIn(key, 'content')) return found;
      const record = Buffer.from(found);
      const keyEnd = 2 + record.readUInt16BE(0);
      if (!record.toString('utf8', 2, keyEnd).startsWith('r/')) return found;
      const stored = JSON.parse(record.toString('utf8', keyEnd + 4)) as object;
      const attributes = Buffer.from(JSON.stringify({ ...stored, ...other }));
      const length = Buffer.alloc(4);
      length.writeUInt32BE(attributes.length);
      return Buffer.concat([record.subarray(0, keyEnd), length, attributes]);
    },
  };
}
