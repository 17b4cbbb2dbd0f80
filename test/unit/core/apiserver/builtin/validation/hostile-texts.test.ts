/** Texts at every place of the built-in kinds that could do harm: names of members of every object of JavaScript, and long texts. */
import { expect, it } from 'vitest';
import type { KubeObject } from '../../../../../../core/object/meta.ts';
import { baseObjects, checkedWrite, ownAnswer, ownSpace } from '../../../../../support/differential/answers.ts';
import { type TextPlace, textPlaces } from '../../../../../support/differential/places.ts';

const space = ownSpace();
const answerTo = (object: KubeObject) => ownAnswer(() => space.create(object, checkedWrite));

/** Members of every object, each with a word of the same form that is none. */
const words = [
  ['constructor', 'konstructor'],
  ['toString', 'teString'],
  ['__proto__', '__grote__'],
] as const;

/** Every rule once: templates of pods have the same rules in all kinds. */
const rules = [
  ...new Map(
    baseObjects.flatMap((object) =>
      textPlaces(object).map((place) => {
        const inTemplate = place.path.indexOf('.template.');
        const rule = inTemplate < 0 ? `${object.kind}${place.path}` : place.path.slice(inTemplate);
        return [rule, [rule, object, place] as const];
      }),
    ),
  ).values(),
];

it('have no meaning as names of members of every object', () => {
  expect(rules.length).toBeGreaterThan(800);
  for (const [rule, object, { having }] of rules) {
    for (const [member, other] of words) {
      const answers: string[] = [];
      for (const word of [member, other]) having(word, () => answers.push(JSON.stringify(answerTo(object))));
      expect(answers[0]!.replaceAll(member, other), `${rule}: ${member}`).toBe(answers[1]);
    }
  }
});

/** Pieces of texts that expressions of rules begin with. A text of many of them, with an end that fits none, tries each beginning. */
const pieces = ['1', 'a', '.', '-', '/', ':', '*', "['", '"\\', 'a.', '1.', 'e1', 'iqn.2001-01.a:'];
const shorter = 20_000;
/** The processor's time that two runs may differ by although they do the same work, in µs. */
const noiseUs = 40_000;

function work(object: KubeObject, having: TextPlace['having'], piece: string, length: number) {
  const start = process.cpuUsage();
  having(`${piece.repeat(Math.ceil(length / piece.length))}\n`, () => answerTo(object));
  const { user, system } = process.cpuUsage(start);
  return user + system;
}

it('takes work in proportion to the length of a text, at every place', () => {
  for (const [rule, object, { having }] of rules) {
    for (const piece of pieces) {
      const once = work(object, having, piece, shorter);
      if (once < noiseUs / 2) continue;
      // A text of four times the length takes four times the work, and sixteen times if the work is quadratic.
      expect(work(object, having, piece, 4 * shorter), `${rule}: ${piece}`).toBeLessThan(8 * once + noiseUs);
    }
  }
});
