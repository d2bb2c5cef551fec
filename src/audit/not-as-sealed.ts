/** An event, a checkpoint or a stored hash of the tree differs from what was sealed. */
export class NotAsSealed extends Error {
  constructor(problem: string) {
    super(problem);
    this.name = 'NotAsSealed';
  }
}
