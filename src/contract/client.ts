import { Type } from './schema.ts';
import { shaped } from './shaped.ts';

const clientId = Type.String({ description: 'Client identifier, client_ followed by characters.' });
const described = {
  name: Type.String({ description: 'To recognise the client by.' }),
  account: Type.String({ description: 'The account it acts for, such as Brand:7.' }),
  createdAt: Type.String({ format: 'date-time', description: 'When it was added, UTC.' }),
};

/** A confidential OAuth client as an operator sees it: the command line's JSON. */
export const OperatorClient = Type.Object({ clientId, ...described });

/** The same when it is added. */
export const OperatorAddedClient = Type.Object({
  clientId,
  clientSecret: Type.String({ description: 'Returned only once.' }),
  ...described,
});

export const toOperatorClient = shaped(OperatorClient);
export const toOperatorAddedClient = shaped(OperatorAddedClient);
