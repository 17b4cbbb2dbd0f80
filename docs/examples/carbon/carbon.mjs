/**
 * A program of the outside world that tells how much carbon a kilowatt hour costs at each place: it reads figures that somebody else writes, and sets
 * the property `carbon.gPerKWh` of SyncTargets where they have changed. It knows nothing of placements, and Banyan nothing of carbon.
 *
 *     node carbon.mjs FEED
 *
 * FEED is a JSON file of grams per kilowatt hour by the path of a cluster, such as {"eu:paris:rivoli": 56, "us:market": 380}. A SyncTarget is in
 * the inventory of the node above its cluster; kubectl finds that as it always does, in KUBECONFIG, by the context `node/PATH`.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** Figures of a grid change by the quarter of an hour. */
const lookEveryMs = 1_000;

const [file] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('usage: node carbon.mjs FEED\n');
  process.exit(2);
}

/** @type {Map<string, number>} The newest figure of each path that its node has taken. */
const told = new Map();
for (; ; await sleep(lookEveryMs)) {
  for (const [path, grams] of Object.entries(read(file))) {
    if (told.get(path) !== grams && tell(path, grams)) told.set(path, grams);
  }
}

/**
 * What can't be read changes nothing: the last figures hold.
 *
 * @param {string} path
 * @returns {Record<string, number>} grams by path
 */
function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    process.stderr.write(`${path} can't be read: ${error instanceof Error ? error.message : String(error)}\n`);
    return {};
  }
}

/**
 * @param {string} path
 * @param {number} grams
 * @returns {boolean} false when the node does not answer: the next look tries again
 */
function tell(path, grams) {
  const segments = path.split(':');
  const name = segments.pop() ?? '';
  const node = segments.length === 0 ? 'center' : segments.join(':');
  const patch = JSON.stringify({ spec: { properties: { 'carbon.gPerKWh': String(grams) } } });
  const args = ['--context', `node/${node}`, 'patch', 'synctarget', name, '--type=merge', '-p', patch];
  const { status, stdout, stderr } = spawnSync('kubectl', args, { encoding: 'utf8' });
  process.stdout.write(status === 0 ? `${path}: ${grams} g/kWh ${stdout}` : `not told: ${stderr}`);
  return status === 0;
}
