/** A process that runs seeds: `worker.ts MODE CANARY COVERAGE`. Requests and answers go over the channel to its parent process. */
import { canaryOf } from './canaries/canaries.ts';
import { type Mode, type Plan, planOf } from './plan/plan.ts';
import { Coverage } from './reach/counts.ts';
import { shrink } from './shrink.ts';
import { catchEscaped, type Outcome, simulate } from './simulate.ts';
import type { Answer, Request } from './workers.ts';

const [mode = 'safety', canaryName = '', covers = ''] = process.argv.slice(2);
const canary = canaryName === '' ? undefined : canaryOf(canaryName);
const coverage = covers === '' ? undefined : await Coverage.start();

catchEscaped();
canary?.break();

const run = (plan: Plan): Promise<Outcome> => simulate(plan, canary?.storeFaults);
let last: Promise<unknown> = Promise.resolve();

process.on('message', (request: Request) => {
  last = last.then(() => answer(request));
});
process.on('disconnect', () => process.exit(0));

async function answer(request: Request): Promise<void> {
  switch (request.do) {
    case 'run': {
      const outcome = await run(planOf(request.seed, mode as Mode));
      return send({ did: 'run', index: request.index, outcome });
    }
    case 'shrink':
      return send({ did: 'shrink', ...(await shrink(planOf(request.seed, mode as Mode), run)) });
    case 'coverage':
      return send({ did: 'coverage', counted: (await coverage?.take()) ?? [] });
  }
}

function send(what: Answer): void {
  process.send!(what);
}
