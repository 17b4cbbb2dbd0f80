/**
 * A program of the outside world that lets rollouts pass, or not: it reads a threat level from a file that somebody else writes, and says in the
 * status of a RolloutGate what that means. It knows nothing of waves, and Banyan nothing of threats.
 *
 *     node threat-gate.mjs FEED [GATE] [CONTEXT]
 *
 * FEED is a JSON file such as {"level": "high", "reason": "CVE-2030-1 is exploited"}; the level is low, elevated or high. kubectl finds the
 * space as it always does: KUBECONFIG, and CONTEXT or the current one.
 */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

/** @typedef {{ level: string, reason?: string }} Feed */

/**
 * `Waiting` holds the next wave back; `Failed` stops the release.
 *
 * @type {Readonly<Record<string, string>>}
 */
const phases = { low: 'Passed', elevated: 'Waiting', high: 'Failed' };
/** A feed like this one changes by the hour. */
const lookEveryMs = 1_000;

const [file, gate = 'threat-level', context] = process.argv.slice(2);
if (file === undefined) {
  process.stderr.write('usage: node threat-gate.mjs FEED [GATE] [CONTEXT]\n');
  process.exit(2);
}

for (let said = ''; ; await sleep(lookEveryMs)) {
  const now = JSON.stringify(judge(read(file)));
  if (now !== said && tell(now)) said = now;
}

/**
 * @param {string} path
 * @returns {Feed}
 */
function read(path) {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    // What can't be read is not low: nothing goes on until it can.
    return { level: 'unknown', reason: error instanceof Error ? error.message : String(error) };
  }
}

/**
 * @param {Feed} feed
 * @returns {{ phase: string, message: string }}
 */
function judge({ level, reason }) {
  const message = `the threat level is ${level}${reason === undefined ? '' : `: ${reason}`}`;
  return { phase: phases[level] ?? 'Waiting', message };
}

/**
 * @param {string} judgement as JSON
 * @returns {boolean} false when the space does not answer: the next look tries again
 */
function tell(judgement) {
  const status = { ...JSON.parse(judgement), observedTime: new Date().toISOString() };
  const patch = JSON.stringify({ status });
  const where = context === undefined ? [] : ['--context', context];
  const args = [...where, 'patch', 'rolloutgate', gate, '--subresource=status', '--type=merge', '-p', patch];
  const { status: code, stdout, stderr } = spawnSync('kubectl', args, { encoding: 'utf8' });
  process.stdout.write(code === 0 ? `${judgement} ${stdout}` : `not told: ${stderr}`);
  return code === 0;
}
