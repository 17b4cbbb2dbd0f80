/** The same helm commands at a workload space and at a real control plane, by helm 3 and helm 4: the same output, exit codes and managed fields. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SpaceAndPlane } from '../e2e/space-and-plane.ts';
import { acceptedHelmCommands } from '../support/accepted-helm-answers.ts';
import { differences, runSession, unneeded } from '../support/command-session.ts';
import { withoutControlPlane } from '../support/control-plane/binaries.ts';
import { helmProgram, withoutHelm, withoutHelm4 } from '../support/helm.ts';
import { withoutKubectl } from '../support/kubectl.ts';

const missing = withoutKubectl ?? withoutControlPlane() ?? withoutHelm ?? withoutHelm4;
const why = missing ? ` [not run: ${missing}]` : '';
const sessions = ['helm', 'helm-hooks', 'helm-refused'];
/** A session takes two minutes, and several times as long on a busy machine. */
const sessionMsMax = 15 * 60_000;

describe.skipIf(missing)(`sessions of helm${why}`, () => {
  const needed = new Set<string>();

  describe.each([3, 4] as const)('by helm %i', (version) => {
    let both: SpaceAndPlane;
    beforeAll(async () => {
      both = await SpaceAndPlane.start(`helm-${version}`);
    }, 180_000);
    afterAll(() => both?.[Symbol.asyncDispose]());

    it.each(sessions)(
      '%s',
      async (session) => {
        const programs = { helm: await helmProgram(version), kubectl: both.kubectl };
        const run = (kubeconfig: string) => runSession(session, programs, kubeconfig);
        const [ours, theirs] = await Promise.all([run(both.kubeconfigs[0]), run(both.kubeconfigs[1])]);
        expect(differences(ours, theirs, acceptedHelmCommands, needed)).toEqual([]);
      },
      sessionMsMax,
    );
  });

  it('need each accepted difference', () => {
    expect(unneeded(acceptedHelmCommands, needed)).toEqual([]);
  });
});
