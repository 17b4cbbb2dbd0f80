/** The other end of `ask` (scratch.ts): a forked program answers each message of its parent with one message, ends with an error, and ends with its parent. */
export function answerParent<Question>(answer: (question: Question) => Promise<object | string | number>): void {
  process.on('disconnect', () => process.exit(0));
  process.on('message', (question: Question) => {
    answer(question).then(
      (result) => process.send?.(result),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
}
