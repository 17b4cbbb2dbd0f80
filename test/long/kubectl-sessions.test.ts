/** The same kubectl commands at a workload space and at a real control plane, by several versions of kubectl: the same output and exit codes. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SpaceAndPlane } from '../e2e/space-and-plane.ts';
import { acceptedCommands } from '../support/accepted-answers.ts';
import { differences, runSession, unneeded } from '../support/command-session.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { olderKubectlProgram, withoutKubectl, withoutOlderKubectl } from '../support/kubectl.ts';

const sessions = ['basics', 'apply', 'change', 'make', 'read', 'pods'] as const;
type Session = (typeof sessions)[number];

/** Each version runs what its users run most, and all versions together run every session by the oldest and the newest version. */
const versions: readonly { readonly minor: 27 | 29 | 31 | 32 | 34; readonly sessions: readonly Session[] }[] = [
  { minor: 27, sessions },
  { minor: 29, sessions: ['basics', 'apply'] },
  { minor: 31, sessions: ['basics', 'change'] },
  { minor: 32, sessions: ['apply', 'change'] },
  { minor: 34, sessions },
];
const older = versions.flatMap(({ minor }) => (minor === 34 ? [] : [minor]));
const missing = withoutKubectl ?? withoutControlPlane() ?? older.map(withoutOlderKubectl).find((one) => one);
const why = missing ? ` [not run: ${missing}]` : '';
/** A session takes half a minute, and several times as long on a busy machine. */
const sessionMsMax = 10 * 60_000;

describe.skipIf(missing)(`sessions of kubectl${why}`, () => {
  const needed = new Set<string>();

  // Each version has a space and a control plane of its own, because the sessions of another version leave objects behind that are still going away.
  describe.each(versions)('by kubectl 1.$minor', ({ minor, sessions: ofVersion }) => {
    let both: SpaceAndPlane;
    beforeAll(async () => {
      both = await SpaceAndPlane.start(`kubectl-${minor}`);
    }, 180_000);
    afterAll(() => both?.[Symbol.asyncDispose]());

    it.each(ofVersion)(
      '%s',
      async (session) => {
        const kubectl = minor === 34 ? both.kubectl : olderKubectlProgram(minor);
        const run = (kubeconfig: string) => runSession(session, { kubectl }, kubeconfig);
        const [ours, theirs] = await Promise.all([run(both.kubeconfigs[0]), run(both.kubeconfigs[1])]);
        expect(differences(ours, theirs, acceptedCommands, needed)).toEqual([]);
      },
      sessionMsMax,
    );
  });

  it('need each accepted difference', () => {
    expect(unneeded(acceptedCommands, needed)).toEqual([]);
  });
});
